"""Resampling gives each draw its share on average, and the error of a mean weight is that of the mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.inference.statistics.importance import mean_weight, resample


def test_a_draw_is_resampled_as_often_as_it_weighs_on_average() -> None:
    """Planted bug: without its random offset, weights of .4 and .6 gave the second draw every single start."""
    weights, repeats = np.array([0.05, 0.4, 0.15, 0.4]), 4000
    rng = np.random.default_rng(20_266)
    first = np.bincount([resample(rng, np.log(weights), 1)[0] for _ in range(repeats)], minlength=4)
    assert stats.chisquare(first, repeats * weights).pvalue > ALPHA
    three = np.bincount([k for _ in range(repeats) for k in resample(rng, np.log(weights), 3)], minlength=4)
    error = 5 * np.sqrt(repeats * 0.25)  # a count varies by less than one around 3 * weight
    assert np.all(np.abs(three - 3 * repeats * weights) < error)


@pytest.mark.parametrize("n", [25, 400])
def test_the_error_of_a_mean_weight_is_the_spread_of_such_means(n: int) -> None:
    """Planted bug: that of one weight, whatever their number."""
    rng = np.random.default_rng(n)
    found = np.array([mean_weight(-0.5 * rng.normal(size=n) ** 2 - 900.0) for _ in range(2000)])
    assert np.all(found[:, 0] == 0.0), "exp(-900) is no number, and the errors are"
    means = [mean_weight(-0.5 * rng.normal(size=n) ** 2)[0] for _ in range(2000)]
    assert np.mean(found[:, 1]) == pytest.approx(np.std(means) / np.mean(means), rel=0.1)
