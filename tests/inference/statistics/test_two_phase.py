"""Two-phase estimates: unbiased whatever the cheap score, nested as they grow, exact without a phase two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.sampled_banks import Bank, mass_interval
from trex.foundation.errors import InputError
from trex.inference.statistics import weighted
from trex.inference.statistics.budget import further_draws, is_common
from trex.inference.statistics.discoveries import excess_p_value
from trex.inference.statistics.importance import effective_size, resample
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.inference.statistics.two_phase import (
    Selection,
    design,
    estimate,
    everyone,
    inclusion_probabilities,
)
from trex.inference.statistics.weighted import upper_counts, weighted_interval

SCORES = np.random.default_rng(3).standard_normal(600)


def test_every_member_has_its_floor_and_the_likeliest_are_sure() -> None:
    inclusion = inclusion_probabilities(SCORES, 80, 0.4)
    assert inclusion.sum() == pytest.approx(80.0) and inclusion.min() == pytest.approx(0.4 * 80 / 600)
    assert inclusion.max() == 1.0 and np.all(np.diff(inclusion[np.argsort(-SCORES)]) <= 0.0)
    assert np.all(inclusion_probabilities(SCORES, 600) == 1.0)
    uniform = inclusion_probabilities(SCORES, 80, 1.0)
    assert np.ptp(uniform) < 1e-12
    tied = inclusion_probabilities(np.full(50, -np.inf), 10)
    assert np.ptp(tied) == 0.0 and tied.sum() == pytest.approx(10.0)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1])
def test_a_design_that_leaves_members_without_a_chance_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="without a chance"):
        inclusion_probabilities(SCORES, 80, share)
    with pytest.raises(InputError, match="NaN"):
        inclusion_probabilities(np.array([0.0, math.nan]), 1)


@pytest.mark.slow
def test_the_probabilities_are_those_at_which_members_are_drawn() -> None:
    """A factor of 1.2, planted, is caught."""
    repeats, inclusion = 300, inclusion_probabilities(SCORES, 80)
    seen = np.zeros(SCORES.size)
    for seed in range(repeats):
        seen[design(seed, SCORES, 80).members] += 1
    unsure = inclusion < 1.0
    assert np.all(seen[~unsure] == repeats)

    def z_of(claimed: float) -> float:
        p = np.minimum(1.0, claimed * inclusion[unsure])
        return float((seen[unsure] - repeats * p).sum() / math.sqrt(repeats * (p * (1 - p)).sum()))

    assert 2 * stats.norm.sf(abs(z_of(1.0))) > ALPHA
    assert 2 * stats.norm.sf(abs(z_of(1.2))) < ALPHA


def test_a_larger_second_phase_only_adds_members() -> None:
    before = design(5, SCORES, 20)
    for n_second in (30, 80, 81, 200, 599, 600):
        after = design(5, SCORES, n_second)
        assert set(before.members) <= set(after.members) and np.all(before.inclusion <= after.inclusion)
        before = after
    assert before.members.size == 600
    assert set(design(6, SCORES, 80).members) != set(design(5, SCORES, 80).members)


@pytest.mark.parametrize("correlation", [0.8, 0.0, -0.5])
def test_rate_and_mass_are_unbiased_for_the_prior(correlation: float) -> None:
    """Planted: what was found without its weights, which the cheap score inflates or deflates."""
    bank, rng = Bank(0.1, correlation), np.random.default_rng(8)
    rates, masses, unweighted = [], [], []
    for seed in range(120):
        cheap, g = bank.draw(rng, 1, 500)
        selection = design(seed, cheap[0], 100)
        seen = g[0][selection.members]
        rates.append(estimate(selection, bank.hits(seen)).value)
        masses.append(estimate(selection, bank.relative(seen)).value)
        unweighted.append(bank.hits(seen).mean())
    assert stats.ttest_1samp(rates, bank.rate).pvalue > ALPHA
    assert stats.ttest_1samp(masses, bank.mass).pvalue > ALPHA
    assert correlation == 0.0 or stats.ttest_1samp(unweighted, bank.rate).pvalue < ALPHA


@pytest.mark.slow
def test_the_error_is_the_spread_of_the_estimates() -> None:
    """Both phases: planted, an error that forgets that the bank is a sample, or the second phase."""
    bank, rng = Bank(0.2), np.random.default_rng(9)
    found, claimed, first_only = [], [], []
    for seed in range(400):
        cheap, g = bank.draw(rng, 1, 300)
        selection = design(seed, cheap[0], 100)
        item = estimate(selection, bank.hits(g[0][selection.members]))
        found.append(item.value)
        claimed.append((item.error * item.value) ** 2)
        first_only.append(item.value * (1 - item.value) / 300)
    ratio = np.mean(claimed) / np.var(found)
    low, high = 399 / stats.chi2.ppf([1 - ALPHA / 2, ALPHA / 2], 399)
    assert low < ratio < high
    assert np.mean(first_only) / np.var(found) < low


@pytest.mark.parametrize("hits", [0, 1, 4, 31, 60, 79, 80])
def test_without_a_second_phase_it_is_clopper_and_pearson(hits: int) -> None:
    values = (np.arange(80) < hits).astype(float)
    item = estimate(everyone(80), values)
    assert item.interval == pytest.approx(clopper_pearson(hits, 80), abs=1e-12)
    assert item.point == Proportion(hits, 80).point and item.value == hits / 80
    relative = values * 0.7
    assert estimate(everyone(80), relative).interval == pytest.approx(
        mass_interval(float(relative.mean()), 80), abs=1e-12
    )


def test_no_hit_bounds_by_the_smallest_probability() -> None:
    selection = design(1, SCORES, 100, 0.5)
    item = estimate(selection, np.zeros(selection.members.size))
    uniform = 50  # draws: the floor times the size of the bank
    assert item.interval == pytest.approx(clopper_pearson(0, uniform)) and item.point is None
    assert estimate(Selection(np.array([], np.intp), np.full(10, 0.1)), np.array([])).interval == (
        pytest.approx((0.0, 0.975))
    )


def test_a_hit_with_a_tiny_probability_does_not_narrow_the_interval() -> None:
    inclusion = np.where(np.arange(1000) < 50, 1.0, 0.01)
    selection = Selection(np.append(np.arange(50), 700), inclusion)
    sure = (np.arange(51) < 20).astype(float)
    lone = estimate(selection, sure + (np.arange(51) == 50))
    assert lone.value == pytest.approx(0.12) and lone.error > 0.8 and lone.point is None
    assert lone.interval.low < 0.02 and lone.interval.high > 0.4
    planted = clopper_pearson(120, 1000)  # each weighted hit counted as so many
    assert planted.high / planted.low < 2.0


def test_hits_of_sure_members_say_nothing_of_the_others() -> None:
    """Twenty hits among 50 of probability 1: a variance of the seen alone would end at .03."""
    inclusion = np.where(np.arange(1000) < 50, 1.0, 0.01)
    selection = Selection(np.append(np.arange(50), 700), inclusion)
    item = estimate(selection, (np.arange(51) < 20).astype(float))
    assert item.value == 0.02 and item.interval.low < 0.02
    assert item.interval.high > clopper_pearson(0, 10).high > 0.3


def test_examples_are_resampled_by_weight_over_probability() -> None:
    selection = Selection(np.array([0, 1, 2]), np.array([1.0, 0.5, 0.25, 0.25]))
    log_weights = selection.log_weights(np.log([0.2, 0.2, 0.15]))
    counts = np.bincount(resample(np.random.default_rng(1), log_weights, 1200), minlength=3)
    assert np.all(np.abs(counts - np.array([200, 400, 600])) <= 1)
    assert effective_size(log_weights) == pytest.approx(1.2**2 / (0.2**2 + 0.4**2 + 0.6**2))
    with pytest.raises(InputError, match="3 members"):
        selection.log_weights(np.zeros(2))


def test_impossible_values_and_weights_are_refused() -> None:
    for values, weights in (([1.5], [1.0]), ([math.nan], [1.0]), ([1.0], [0.5]), ([1.0], [9.0]), ([1.0], [])):
        with pytest.raises(InputError):
            weighted_interval(np.array(values), np.array(weights), 10, 4.0)


def test_high_rates_are_covered_too() -> None:
    for rate in (0.5, 0.9):
        bank, rng, covered = Bank(rate, 0.8), np.random.default_rng(4), 0
        inclusion = inclusion_probabilities(np.arange(500.0, 0.0, -1.0), 100)
        _, g = bank.draw(rng, 300, 500)
        for row in g:
            selection = Selection(np.flatnonzero(rng.random(500) < inclusion), inclusion)
            low, high = estimate(selection, bank.hits(row[selection.members])).interval
            covered += low <= rate <= high
        assert stats.binom.cdf(covered, 300, 0.95) > ALPHA


def test_common_means_that_the_wanted_draws_fit_the_budget() -> None:
    assert is_common(0.0125, 2000) and not is_common(0.0124, 2000)
    assert is_common(0.02, 2000, wanted=40.0) and not is_common(0.02, 1999, wanted=40.0)
    assert not is_common(None, 10**9)  # fewer than four hits give no value
    assert not is_common(Proportion(3, 100).point, 10**9) and is_common(Proportion(4, 10).point, 63)
    assert further_draws(0.3) == 84
    with pytest.raises(InputError, match="above 0"):
        further_draws(0.0)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.6, 0.8, 0.95, 1.0])
def test_above_one_half_the_value_lies_in_its_own_interval(rate: float) -> None:
    """Planted bug: the value was the sum of nearly all weights, which vary, and the interval that of the others."""
    rng, off, values = np.random.default_rng(8), 0, []
    for seed in range(150):
        truth = (rng.random(1000) < rate).astype(float)
        chosen = design(seed, truth + rng.standard_normal(1000), 100)
        found = estimate(chosen, truth[chosen.members])
        low, high = found.interval
        off += not low <= found.value <= high
        values.append(found.value)
        assert 0.0 < found.value <= 1.0 and found.error < 1.0
    assert off == 0 and abs(np.mean(values) - rate) < (0.04 if rate == 0.6 else 0.02)


def common_coverage(rate: float, repeats: int = 600) -> int:
    """How many intervals of some 12 members at the level in use hold a rate near one."""
    rng, covered = np.random.default_rng(11), 0
    for seed in range(repeats):
        truth = (rng.random(1000) < rate).astype(float)
        chosen = design(seed, truth + 0.3 * rng.standard_normal(1000), 12)
        low, high = estimate(chosen, truth[chosen.members], 0.975).interval
        covered += low <= rate <= high
    return covered


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.98, 1.0])
def test_few_members_of_a_bank_whose_scenes_nearly_all_hit_cover(rate: float) -> None:
    assert stats.binom.cdf(common_coverage(rate), 600, 0.95) > ALPHA


@pytest.mark.slow
def test_a_total_that_is_taken_for_the_share_makes_nearly_all_hits_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: 7 hits of 7 members whose weights happened to sum to 275 gave 27.5% of 1,000."""
    monkeypatch.setattr(weighted, "may_be_most", weighted.is_most)
    assert stats.binom.cdf(common_coverage(0.98, 1200), 1200, 0.95) < ALPHA


@pytest.mark.parametrize("share", [0.5, 0.8, 0.97, 1.0])
def test_upper_counts_are_those_of_a_distribution_whatever_the_weights_sum_to(share: float) -> None:
    """Planted bug: weights that sum to more than the bank made the first count negative, and a p-value NaN."""
    rng = np.random.default_rng(9)
    for seed in range(100):
        truth = (rng.random(1000) < share).astype(float)
        chosen = design(seed, truth + rng.standard_normal(1000), 64)
        counts = upper_counts(truth[chosen.members], chosen.weights, chosen.n, chosen.heaviest)
        assert min(counts) > 0.0
        assert 0.0 <= excess_p_value(20.0, 40, counts) <= 1.0


@pytest.mark.slow
def test_a_share_near_one_that_the_prior_has_too_is_seldom_named() -> None:
    """Planted bug: not mirrored, the prior's upper end was too low, and 9% of p-values were below .05."""
    rng, small = np.random.default_rng(10), 0
    for seed in range(250):
        truth = (rng.random(1000) < 0.97).astype(float)
        chosen = design(seed, rng.standard_normal(1000), 64)
        counts = upper_counts(truth[chosen.members], chosen.weights, chosen.n, chosen.heaviest)
        small += excess_p_value(float(rng.binomial(40, 0.97)), 40, counts) <= 0.05
    assert stats.binom.sf(small - 1, 250, 0.05) > ALPHA
