"""What a picture costs at each look, and how many cheap steps pay for a dear one."""

from __future__ import annotations

from trex.query.schema import Query
from trex.worlds.looks import ladder

# CPU seconds of one core; docs/PERFORMANCE.md, render.cpu_s
CPU_S = {
    "draft": 0.063, "sketch": 0.134, "fast": 0.382, "coarse": 0.521, "sharp": 1.41, "reference": 4.59, "clevr": 118.0
}  # fmt: skip
MAX_INNER = 16
# Cheap steps for a dear one, from which ratio of their costs on (benchmarks/kernels/KERNELS.md).
INNER = ((20.0, MAX_INNER), (8.0, 8), (0.0, 4))

# A look scores a whole bank if a scene at the deciding look costs at least so many of its own pictures.
LEAST_RATIO = 8.0


def rescores_bank(query: Query, lead: str) -> bool:
    """Whether the bank is scored once more, at this look, if it leads the chains.

    The cheapest look has scored it already, and a dear one would cost too much.

    At `sharp`, which costs a third of `reference`, a bank of 1,000 scenes costs as much as 300 deciding pictures: a
    search spent its whole budget on it (reproduce/LOG.md, "At equal CPU time").
    """
    if lead not in ladder(query.render.preset)[1:]:
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
    return query.render.noise * CPU_S[query.render.preset] / CPU_S[lead]
