"""How often a level set occurs: weights by inclusion, and intervals at other levels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.references.draws import scored
from trex.inference.statistics.how_often import how_often, rate_of
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.two_phase import Selection, everyone
from trex.inference.targets import threshold
from trex.inference.types import Draw

TARGET = threshold(("a", "b"), "a", 0.5, width=0.05)


def test_the_effective_size_counts_each_draw_for_those_that_it_stands_for() -> None:
    """Four equal hits with weights 1, 1, 10 and 10 are worth (22)^2 / 202 draws, not 4."""
    draws = [Draw(scored(TARGET, [0.9, 0.1], k), index=k) for k in range(4)]
    chosen = Selection(np.arange(4), np.array([1.0, 1.0, 0.1, 0.1]))
    assert how_often(draws, chosen, TARGET).ess == pytest.approx(22**2 / 202)


def test_at_another_level_the_rate_has_its_interval() -> None:
    hits = np.repeat([1.0, 0.0], [6, 34])
    for level in (0.95, 0.975, 0.9875):
        assert rate_of(hits, everyone(40), level).interval == pytest.approx(clopper_pearson(6, 40, level))
    draws = [Draw(scored(TARGET, [0.9, 0.1], k), index=k) for k in range(9)]
    wide, plain = (how_often(draws, everyone(9), TARGET, level) for level in (0.975, 0.95))
    assert wide.mass.interval.low < plain.mass.interval.low and wide.level == 0.975
