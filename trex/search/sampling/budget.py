"""The most pictures that a search may render, at the deciding look and at cheaper ones."""

from __future__ import annotations

from typing import NamedTuple

from trex.query.schema import Query
from trex.search.hits import TRIES
from trex.search.sampling.calibration import SCENES
from trex.search.sampling.prior_plan import GROWTH
from trex.worlds.kernels import SURROGATE
from trex.worlds.looks import ladder


class Pictures(NamedTuple):
    """Pictures at the deciding look, and at cheaper looks."""

    deciding: int
    cheap: int


def most_pictures(query: Query) -> Pictures:
    """Upper bounds for a query as resolved; those of a bank that are rendered already are counted too.

    Without `stop_when_found` any number of hits may have to survive fresh draws; their renders are then left out.
    """
    search, looks = query.search, ladder(query.render.preset)
    steps = search.chains * search.steps
    fresh = (query.render.fresh or 0) * TRIES * search.stop_when_found
    if not (search.bank and looks):
        return Pictures((search.prior_scenes + steps) * query.render.noise + fresh, 0)
    inner = steps * search.inner if search.kernel == SURROGATE else 0
    calibration = SCENES * (len(looks) - 1)
    scored = (
        2 if search.kernel == SURROGATE and calibration else 1
    )  # at the cheapest look, and at the one that leads
    prior = min(search.bank, scored * GROWTH * search.prior_scenes)
    cheap = scored * search.bank + calibration + inner
    return Pictures((prior + steps) * query.render.noise + fresh, cheap)
