"""What a picture costs at each look, and how many cheap steps pay for a dear one."""

from __future__ import annotations

from trex.query.schema import Query
from trex.worlds.looks import ladder

# CPU seconds of one core; docs/reference/presets.md, render.cpu_s
CPU_S = {
    "analytic": 0.013, "draft": 0.063, "sketch": 0.134, "fast": 0.382, "coarse": 0.521, "sharp": 1.41,
    "reference": 4.59, "clevr": 118.0,
}  # fmt: skip
BESIDE_S = 0.022  # proposing and scoring one picture (docs/reference/presets.md)
MAX_INNER = 16
# Cheap steps for a dear one, from which ratio of their costs on (benchmarks/kernels/KERNELS.md).
INNER = ((20.0, MAX_INNER), (8.0, 8), (0.0, 4))

# A look scores a whole bank if a scene at the deciding look costs at least so many of its own pictures.
LEAST_RATIO = 8.0


# A spread sample is rendered unasked if it takes no longer than this on CORES cores, or on a graphics card.
PATIENCE_S, CORES = 600.0, 2
ON_CPU, ON_GPU = 500, 1000  # members


def resolved_spread(query: Query, device: str) -> int:
    """How many members of the bank a search spreads evenly for its rate, on this device; "auto" counts as a CPU.

    0 without a bank, and where the whole bank is judged at the deciding look already.
    """
    search, render = query.search, query.render
    if not (search.bank and ladder(render)):
        return 0
    if search.spread is not None:
        return search.spread
    if device not in ("cpu", "auto"):
        return min(ON_GPU, search.bank)
    seconds = spread_s(query, ON_CPU)
    return min(ON_CPU, search.bank) if seconds is not None and seconds <= PATIENCE_S else 0


def device_of(renderer: str) -> str:
    """The device in a renderer's key: "cpu", or that of a graphics card."""
    _, is_named, device = renderer.rpartition(" device=")
    return device if is_named else "cpu"


def spread_s(query: Query, n: int) -> float | None:
    """The seconds that n scenes at the deciding look take on two cores of a CPU; None if that is not documented."""
    render = query.render
    return n * render.pictures * CPU_S[render.preset] / CORES if render.preset in CPU_S else None


def rescores_bank(query: Query, lead: str) -> bool:
    """Whether the bank is scored once more, at this look, if it leads the chains.

    The cheapest look has scored it already, and a dear one would cost too much.

    At `sharp`, which costs a third of `reference`, a bank of 1,000 scenes costs as much as 300 deciding pictures: a
    search spent its whole budget on it (reproduce/LOG.md, "At equal CPU time").
    """
    if lead not in ladder(query.render)[1:]:
        return False
    ratio = _ratio(query, lead)
    return ratio is None or ratio >= LEAST_RATIO


def inner_steps(query: Query, lead: str) -> int:
    """The cheap steps before each render at the deciding look, if this look leads the chains."""
    if query.search.inner is not None:
        return query.search.inner
    ratio = _ratio(query, lead)
    return MAX_INNER if ratio is None else next(steps for least, steps in INNER if ratio >= least)


def _ratio(query: Query, lead: str) -> float | None:
    """How many pictures at the leading look cost as much as one scene at the deciding look; None if not documented."""
    if lead not in CPU_S or query.render.preset not in CPU_S:
        return None
    pictures = query.render.pictures
    return pictures * (CPU_S[query.render.preset] + BESIDE_S) / (CPU_S[lead] + BESIDE_S)
