"""How often: the exact interval of a rate, the mass of the relaxed level set against exact enumeration, the rule."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.sampled_banks import mass_interval
from tests.simulations.tiny_world import VALID, TinyRenderer, kernel, states
from tests.simulations.toy import PixelClassifier, PixelRenderer, SquarePrior
from trex.foundation.errors import InputError
from trex.inference.scoring import Scorer
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.how_often import how_often as how_often_of
from trex.inference.statistics.importance import (
    effective_size,
    mean_weight,
    normalized_weights,
    prior_draws,
    resample,
    reweigh,
)
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.two_phase import everyone
from trex.inference.targets import GaussianTarget, high_confidence
from trex.inference.types import Draw, Floats

LABELS = PixelClassifier().labels
SQUARE = Scorer(PixelRenderer(), PixelClassifier())
TINY = Scorer(TinyRenderer(), PixelClassifier())


def square_draws(n: int, width: float = 0.05) -> list[Draw[Floats]]:
    return prior_draws(5, range(n), SquarePrior(), SQUARE, high_confidence(LABELS, "red", width=width))


def how_often(draws: list[Draw[Floats]], target: GaussianTarget) -> HowOften:
    return how_often_of(draws, everyone(max(1, len(draws))), target)


def test_prior_draws_do_not_depend_on_the_batches() -> None:
    target = high_confidence(LABELS, "red")
    whole = prior_draws(5, range(9), SquarePrior(), SQUARE, target)
    for batch in (1, 4, 9):
        parts = [
            draw
            for begin in range(0, 9, batch)
            for draw in prior_draws(5, range(9)[begin : begin + batch], SquarePrior(), SQUARE, target)
        ]
        assert [d.z.tolist() for d in parts] == [d.z.tolist() for d in whole]
    resumed = prior_draws(5, range(6, 9), SquarePrior(), SQUARE, target)
    assert [d.z.tolist() for d in resumed] == [d.z.tolist() for d in whole[6:]]
    other = prior_draws(6, range(9), SquarePrior(), SQUARE, target)  # negative control
    assert [d.z.tolist() for d in other] != [d.z.tolist() for d in whole]


def test_clopper_pearson_inverts_the_binomial() -> None:
    low, high = clopper_pearson(7, 50)
    assert stats.binom.sf(6, 50, low) == pytest.approx(0.025)
    assert stats.binom.cdf(7, 50, high) == pytest.approx(0.025)
    assert clopper_pearson(0, 50).low == 0.0 and clopper_pearson(50, 50).high == 1.0
    with pytest.raises(InputError):
        clopper_pearson(51, 50)


def test_weights_survive_any_scale() -> None:
    for shift in (0.0, -1e5, 1e5):
        assert normalized_weights(np.array([0.0, math.log(3.0)]) + shift) == pytest.approx([0.25, 0.75])
    assert effective_size(np.zeros(8)) == pytest.approx(8.0)
    assert effective_size(np.array([0.0, -1e6])) == pytest.approx(1.0)
    with pytest.raises(InputError, match="every draw has weight zero"):
        normalized_weights(np.full(3, -np.inf))


def test_resampling_gives_each_index_its_share() -> None:
    rng = np.random.default_rng(1)
    log_weights = np.log([0.1, 0.2, 0.3, 0.4])
    counts = np.bincount(resample(rng, log_weights, 1000), minlength=4)
    assert np.all(np.abs(counts - 1000 * np.exp(log_weights)) <= 1.0)
    assert set(resample(rng, np.array([-np.inf, 0.0]), 5)) == {1}


def test_the_mass_interval_covers_the_exact_mass() -> None:
    """On the tiny world the mass is a sum of 224 terms; planted: weights not relative to their peak."""
    of = kernel(target=high_confidence(LABELS, "red", width=0.2))
    relative = np.array([state.log_weight for state in states(of)]) - of.target.log_peak
    exact = float(np.exp(relative).mean())
    rng = np.random.default_rng(8)
    covered, planted, n, repeats = 0, 0, 300, 1_000
    for _ in range(repeats):
        sample = relative[rng.integers(len(VALID), size=n)]
        mass, _ = mean_weight(sample)
        low, high = mass_interval(mass, n)
        covered += low <= exact <= high
        low, high = mass_interval(mass * math.exp(of.target.log_peak), n)
        planted += low <= exact <= high
    assert stats.binom.cdf(covered, repeats, 0.95) > ALPHA
    assert stats.binom.cdf(planted, repeats, 0.95) < ALPHA


def test_the_error_of_a_mass_is_the_spread_of_the_masses() -> None:
    """Planted: the error of as many hits; a relaxed level set has fewer of them than its weights are worth."""
    target, repeats = high_confidence(LABELS, "red", width=0.3), 300
    found = []
    for seed in range(repeats):
        draws = prior_draws(seed, range(40), SquarePrior(), SQUARE, target)
        narrow = replace(target, tolerance=(0.02,))  # few hits, the same weights
        found.append(how_often(draws, narrow))
    masses = np.array([item.mass.value for item in found])
    low, high = (repeats - 1) / stats.chi2.ppf([1 - ALPHA / 2, ALPHA / 2], repeats - 1)
    claimed = np.mean([(item.mass.error * item.mass.value) ** 2 for item in found]) / masses.var()
    by_hits = np.mean([item.mass.value**2 / max(1, item.hits) for item in found]) / masses.var()
    assert low < claimed < high
    assert not low < by_hits < high


def test_mean_weight_does_not_underflow() -> None:
    mass, error = mean_weight(np.array([-2000.0, -2001.0, -2002.0]))
    assert mass == 0.0 and 0.0 < error < 1.0  # the mass underflows, its relative error does not
    assert mean_weight(np.array([-1.0])) == (pytest.approx(math.exp(-1.0)), math.inf)


def test_how_often_counts_hits_and_draws_the_line() -> None:
    target = high_confidence(LABELS, "red")
    draws = square_draws(400)
    result = how_often(draws, target)
    assert result.hits == sum(d.state.log_probs[0] >= math.log(0.9) for d in draws)
    assert result.rate_interval == clopper_pearson(result.hits, 400)
    assert result.best == max(math.exp(d.state.log_probs[0]) for d in draws)
    assert "prior draws hit" in result.sentences()[0]


def test_no_hit_gives_a_bound_and_no_point_value() -> None:
    target = high_confidence(LABELS, "blue", width=0.001)
    draws = reweigh(square_draws(60), target)
    result = how_often(draws, target)
    assert (result.hits, result.is_common, result.says_mass) == (0, False, False)
    assert result.mass.interval.low == 0.0 and result.mass.interval.high >= clopper_pearson(0, 60).high
    assert "less than 6.0% of all prior draws" in result.sentences()[0]
    assert "only an upper bound is reported" in result.sentences()[1]


def test_chain_states_do_not_tell_how_often() -> None:
    draws = square_draws(20)
    with pytest.raises(InputError, match="only prior draws"):
        how_often([*draws, replace(draws[0], chain=0)], high_confidence(LABELS, "red"))
    with pytest.raises(InputError, match="at least one"):
        how_often([], high_confidence(LABELS, "red"))


def test_reweighing_equals_scoring_anew() -> None:
    target = high_confidence(LABELS, "green", width=0.01)
    anew = prior_draws(5, range(10), SquarePrior(), SQUARE, target)
    assert [d.state.log_weight for d in reweigh(square_draws(10), target)] == [
        d.state.log_weight for d in anew
    ]


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
