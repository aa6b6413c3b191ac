"""Spread samples: the same for all queries of a world, nested as they grow, weighted by the chance of either sample."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.sampled_banks import Bank
from trex.foundation.errors import InputError
from trex.inference.rng import SPREAD_STREAM
from trex.inference.statistics.two_phase import (
    Selection,
    design,
    estimate,
    own_numbers,
    spread_members,
    spread_share,
    with_spread,
)
from trex.inference.types import Floats

N, M, FIRST = 150, 45, 30
SCORES = np.random.default_rng(3).standard_normal(N)
Design = Callable[[int, Floats], Selection]


def both(seed: int, scores: Floats) -> Selection:
    """What is in either sample."""
    spread, share = spread_members(seed, M, scores.size), spread_share(M, scores.size)
    return with_spread(design(seed, scores, FIRST), spread, share)


def forgetful(seed: int, scores: Floats) -> Selection:
    """Planted bug: the members of both, each with its chance to be in the first alone."""
    return Selection(both(seed, scores).members, design(seed, scores, FIRST).inclusion)


def mistaken(seed: int, scores: Floats) -> Selection:
    """Planted bug: two independent samples taken for one, of which each is a part of the larger."""
    wrong = np.maximum(design(seed, scores, FIRST).inclusion, spread_share(M, scores.size))
    return Selection(both(seed, scores).members, wrong)


def greedy(seed: int, scores: Floats) -> Selection:
    """Planted bug: the spread members are those of the best scores."""
    best = np.argsort(-scores)[:M].tolist()
    return with_spread(design(seed, scores, FIRST), best, spread_share(M, scores.size))


def test_the_members_follow_from_seed_and_size_alone_and_grow_at_the_end() -> None:
    own = own_numbers(4, SPREAD_STREAM, N)
    small, large = spread_members(4, 20, N), spread_members(4, M, N)
    assert large[: len(small)] == small and set(large) == set(np.flatnonzero(own < M / N).tolist())
    assert sorted(spread_members(4, N, N)) == list(range(N)) == sorted(spread_members(4, 10 * N, N))
    assert not spread_members(4, 0, N) and spread_members(5, M, N) != large
    assert abs(len(large) - M) < 5 * math.sqrt(M)
    for m, n in ((-1, 10), (1, 0)):
        with pytest.raises(InputError, match="impossible"):
            spread_share(m, n)


@pytest.mark.parametrize(
    ("make", "is_right"),
    [(both, True), (forgetful, False), (mistaken, False), (greedy, False)],
)
def test_each_member_is_in_with_its_probability(make: Design, is_right: bool) -> None:
    repeats, seen = 100, np.zeros(N)
    for seed in range(repeats):
        selection = make(seed, SCORES)
        seen[selection.members] += 1
    inclusion = selection.inclusion
    unsure = inclusion < 1.0
    assert np.all(seen[~unsure] == repeats)
    p = inclusion[unsure]
    z = ((seen[unsure] - repeats * p) / np.sqrt(repeats * p * (1 - p))) ** 2
    assert bool(stats.chi2.sf(z.sum(), z.size) > ALPHA) is is_right


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "is_right"),
    [(both, True), (forgetful, False), (mistaken, False), (greedy, False)],
)
def test_the_rate_is_unbiased(make: Design, is_right: bool) -> None:
    bank, rng, rates = Bank(0.1, 0.8), np.random.default_rng(8), []
    for seed in range(150):
        cheap, g = bank.draw(rng, 1, N)
        selection = make(seed, cheap[0])
        rates.append(estimate(selection, bank.hits(g[0][selection.members])).value)
    assert bool(stats.ttest_1samp(rates, bank.rate).pvalue > ALPHA) is is_right


def test_no_hit_is_bounded_by_the_spread_members() -> None:
    either = both(4, SCORES)
    found = estimate(either, np.zeros(either.members.size)).interval
    alone = estimate(design(4, SCORES, FIRST), np.zeros(design(4, SCORES, FIRST).members.size)).interval
    evenly = N * (1.0 - (1.0 - 0.5 * FIRST / N) * (1.0 - M / N))  # the floor of the first sample, or spread
    assert found.high == pytest.approx(stats.beta.ppf(0.975, 1, evenly)) and alone.high > 2.5 * found.high
