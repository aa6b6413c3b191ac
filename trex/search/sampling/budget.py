"""The most pictures that a search may render, at the deciding look and at cheaper ones, and those of its control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from trex.inference.statistics.control import MASSES
from trex.query.schema import Query
from trex.search.hits import TRIES
from trex.search.sampling.calibration import SCENES
from trex.search.sampling.prior_plan import GROWTH, LIKELIEST
from trex.worlds.costs import CPU_S, MAX_INNER, inner_steps, rescores_bank, resolved_spread
from trex.worlds.kernels import SURROGATE
from trex.worlds.looks import ladder

SPARE = 4.0  # standard deviations by which a spread sample may exceed its mean


class MostPictures(NamedTuple):
    """Pictures at the deciding look and at cheaper ones, and those of a control if nothing is found."""

    deciding: int
    cheap: int
    control: int
    control_cheap: int
    cheap_cpu_s: float = 0.0  # of `cheap`, whichever look leads; 0 where no cost is documented


def most_pictures(query: Query) -> MostPictures:
    """Upper bounds for a query as resolved; those of a bank that are rendered already are counted too.

    All fresh noise draws are counted for `stop_when_found` hits; a sample of the prior may hold more, and without it
    there is no bound.
    """
    search, looks = query.search, ladder(query.render)
    steps = search.chains * search.steps
    further = steps if search.further is None else search.further
    fresh = (query.render.fresh or 0) * query.render.pictures * TRIES * search.stop_when_found
    control = len(MASSES) * steps * query.render.pictures if search.control else 0
    if not (search.bank and looks):  # a common target gets further prior scenes instead of chains
        return MostPictures(
            (search.prior_scenes + max(steps, further)) * query.render.pictures + fresh, 0, control, 0
        )
    is_led = search.kernel == SURROGATE
    inner = steps * (search.inner or MAX_INNER) if is_led else 0
    calibration = SCENES * (len(looks) - 1)
    scored = 2 if is_led and calibration else 1  # at the cheapest look, and at the one that leads
    spread = resolved_spread(query, query.render.device)
    prior = min(
        search.bank, scored * GROWTH * search.prior_scenes + spread + round(SPARE * math.sqrt(spread))
    )
    cheap = scored * search.bank + calibration + inner
    return MostPictures(
        (min(LIKELIEST, search.bank) + prior + steps) * query.render.pictures + fresh,
        cheap,
        control,
        len(MASSES) * inner if search.control else 0,
        _cheap_cpu_s(query, steps if is_led else 0, looks) if set(looks) <= CPU_S.keys() else 0.0,
    )


def _cheap_cpu_s(query: Query, steps: int, looks: Sequence[str]) -> float:
    """The CPU seconds of all cheap pictures, with the leading look that costs most."""
    bank = query.search.bank or 0
    if not steps:
        return bank * CPU_S[looks[0]]
    tried = SCENES * sum(CPU_S[look] for look in looks[1:])
    led = [
        steps * inner_steps(query, look) * CPU_S[look]
        + (bank * CPU_S[look] if rescores_bank(query, look) else 0.0)
        for look in looks
    ]
    return bank * CPU_S[looks[0]] + tried + max(led)
