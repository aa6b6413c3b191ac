"""Intervals that hold: 500 repeats at each true rate, for rate and mass, in every branch that a search can take."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.sampled_banks import Bank, mass_interval
from trex.inference.statistics.budget import FURTHER_LEVEL, WANTED, further_draws, is_common
from trex.inference.statistics.importance import mean_weight
from trex.inference.statistics.paired import NORMAL_95
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.inference.statistics.two_phase import inclusion_probabilities
from trex.inference.statistics.weighted import weighted_bounds
from trex.inference.types import Floats
from trex.search.sampling.prior_plan import SPARE

RATES = (0.1, 0.03, 0.01, 0.003, 0.001)
REPEATS = 500
SEED = 4_117


class Coverage(NamedTuple):
    """How many of the intervals hold the truth, the median upper end over the truth, and of high / low."""

    covered: int
    upper: float
    factor: float


def holds(covered: int, repeats: int = REPEATS) -> bool:
    """No evidence of less than 95%: an exact interval would show fewer with a chance of ALPHA."""
    return bool(stats.binom.cdf(covered, repeats, 0.95) > ALPHA)


def covered(bounds: tuple[Floats, Floats], truth: float) -> Coverage:
    low, high = bounds
    factor = float(np.median(np.where(low > 0.0, high / np.maximum(low, 1e-300), np.inf)))
    return Coverage(int(np.sum((low <= truth) & (truth <= high))), float(np.median(high)) / truth, factor)


def plain(bank: Bank, n: int, seed: int = SEED) -> tuple[Coverage, Coverage]:
    """Rate and mass from n prior draws, each with probability 1."""
    _, g = bank.draw(np.random.default_rng(seed), REPEATS, n)
    hits, mass = bank.hits(g).sum(1), bank.relative(g).sum(1)
    return (
        covered(weighted_bounds(hits, hits, 1.0, n), bank.rate),
        covered(weighted_bounds(mass, mass, 1.0, n), bank.mass),
    )


def two_phase(
    bank: Bank, n: int, n_second: int, share: float = 0.5, claimed: float = 1.0, repeats: int = REPEATS
) -> tuple[Coverage, Coverage]:
    """Rate and mass from a bank of n and about n_second evaluations; `claimed` plants a factor on 1 / inclusion."""
    rng = np.random.default_rng(SEED)
    cheap, g = bank.draw(rng, repeats, n)
    inclusion = inclusion_probabilities(
        cheap[0], n_second, share
    )  # the same for each row: scores fall in all
    weights = (rng.random((repeats, n)) < inclusion) * np.maximum(1.0, claimed / inclusion)
    heaviest, found = max(1.0, claimed / inclusion.min()), []
    for values, truth in ((bank.hits(g), bank.rate), (bank.relative(g), bank.mass)):
        bounds = weighted_bounds((weights * values).sum(1), (weights**2 * values).sum(1), heaviest, n)
        found.append(covered(bounds, truth))
    return found[0], found[1]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("n", [64, 200, 1000])
def test_plain_prior_draws_cover_rate_and_mass(n: int, rate: float) -> None:
    assert [holds(found.covered) for found in plain(Bank(rate), n)] == [True, True]


@pytest.mark.parametrize("correlation", [0.8, 0.0, -0.5])
@pytest.mark.parametrize(("n", "n_second"), [(1000, 64), (1000, 200), (5000, 64), (5000, 200)])
def test_two_phases_cover_rate_and_mass(n: int, n_second: int, correlation: float) -> None:
    for rate in RATES:
        found = two_phase(Bank(rate, correlation), n, n_second)
        assert [holds(coverage.covered) for coverage in found] == [True, True], (rate, found)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_the_uniform_share_does_not_matter_for_coverage(share: float) -> None:
    for rate, correlation in ((0.1, 0.8), (0.1, 0.0), (0.01, 0.8), (0.01, 0.0)):
        found = two_phase(Bank(rate, correlation), 1000, 200, share)
        assert [holds(coverage.covered) for coverage in found] == [True, True], (rate, correlation, found)


def test_a_rate_of_three_tenths_is_covered() -> None:
    """Without Korn and Graubard's effective number of draws: 91%."""
    found = two_phase(Bank(0.3), 1000, 200, repeats=2_000)
    assert [holds(coverage.covered, 2_000) for coverage in found] == [True, True]


def test_a_good_cheap_score_narrows_the_interval() -> None:
    good, useless = two_phase(Bank(0.01, 0.8), 5000, 200)[0], two_phase(Bank(0.01), 5000, 200)[0]
    alone = plain(Bank(0.01), 200)[0]
    assert good.factor < 15.0 < alone.factor < useless.factor
    assert good.upper < 6.0


@pytest.mark.parametrize("claimed", [0.5, 2.0])
def test_inclusion_probabilities_off_by_a_factor_are_caught(claimed: float) -> None:
    found = two_phase(Bank(0.1, 0.8), 5000, 200, claimed=claimed)[0]
    assert stats.binom.cdf(found.covered, REPEATS, 0.95) < ALPHA


def test_the_normal_interval_on_the_log_scale_missed_and_this_one_holds() -> None:
    """The interval before: no hit and flat weights made it 1.4e-87 to 1.4e-87."""
    bank, n = Bank(0.001), 200
    _, g = bank.draw(np.random.default_rng(SEED), REPEATS, n)
    ours, before = 0, 0
    for row in bank.relative(g):
        mass, error = mean_weight(np.log(np.maximum(row, 1e-300)))
        low, high = mass_interval(mass, n)
        ours += low <= bank.mass <= high
        factor = math.exp(NORMAL_95 * error)
        before += error <= 0.5 and mass / factor <= bank.mass <= mass * factor
    assert holds(ours)
    assert stats.binom.cdf(before, REPEATS, 0.95) < ALPHA


def procedure(
    x: int,
    n: int,
    budget: int,
    rate: float,
    is_pooled: bool = False,
    stop: int = 0,
    kept: float = FURTHER_LEVEL,
) -> tuple[bool, float]:
    """Whether x hits of the first n call it common, and the chance that the interval then holds the rate.

    With `stop`, a batch with so many hits ends the search, and keeps its own interval at the level `kept`.
    """
    point = Proportion(x, n).point
    wanted = SPARE * max(WANTED, stop)
    if stop and x >= stop and is_common(point, budget, wanted):
        low, high = clopper_pearson(x, n, kept)
        return True, float(low <= rate <= high)
    if not is_common(point, budget, wanted):
        low, high = clopper_pearson(x, n)
        return False, float(low <= rate <= high)
    assert point is not None
    further = further_draws(point, wanted)
    held, of, level = (x, n + further, 0.95) if is_pooled else (0, further, FURTHER_LEVEL)
    hits = np.arange(further + 1.0)
    ends = weighted_bounds(held + hits, held + hits, 1.0, of, level)
    chances = stats.binom.pmf(hits, further, rate)
    return True, float(chances[(ends[0] <= rate) & (rate <= ends[1])].sum())


def exact_coverage(
    n: int, budget: int, rate: float, is_pooled: bool = False, stop: int = 0, kept: float = FURTHER_LEVEL
) -> tuple[float, float]:
    """The exact coverage of "decide, then draw": over both branches, and given that it was called common."""
    both = common = chance = 0.0
    for x in range(n + 1):
        weight = float(stats.binom.pmf(x, n, rate))
        if weight < 1e-8:
            continue
        called, holding = procedure(x, n, budget, rate, is_pooled, stop, kept)
        both, common, chance = (
            both + weight * holding,
            common + weight * holding * called,
            chance + weight * called,
        )
    return both, common / chance


@pytest.mark.parametrize(("n", "budget"), [(50, 2000), (200, 2000), (1000, 2000), (200, 500)])
def test_deciding_then_drawing_covers_around_the_threshold(n: int, budget: int) -> None:
    threshold = max(4.0 / n, WANTED / budget)
    for factor in (0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 3.0):
        both, given_common = exact_coverage(n, budget, min(0.9, factor * threshold))
        assert both >= 0.95 - 1e-6 and given_common >= FURTHER_LEVEL - 1e-6, factor


def test_pooling_the_draws_that_decided_is_caught() -> None:
    """Planted: a batch that called a rare target common by luck is counted again in the rate."""
    assert exact_coverage(200, 2000, 0.005, is_pooled=True)[1] < 0.9


@pytest.mark.parametrize("n", [100, 200])
@pytest.mark.parametrize("stop", [6, 8, 10, 12])
def test_a_search_that_stops_at_enough_hits_covers_too(n: int, stop: int) -> None:
    rates = (0.012, 0.024, 0.036, 0.056, 0.08, 0.12)
    assert min(exact_coverage(n, 2000, float(rate), stop=stop)[0] for rate in rates) >= 0.95


def test_the_first_batch_of_a_stopped_search_at_95_percent_is_caught() -> None:
    """Planted: the level of a rare target, although only a batch with many hits is kept."""
    assert exact_coverage(100, 2000, 0.056, stop=10, kept=0.95)[0] < 0.94
