"""Paired tests: exact, at their level where nothing differs, and better than tests that forget the pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trex.foundation.errors import InputError
from trex.inference.statistics.paired import Paired, paired

SEED = 20_262


def outcomes(n: int, first: float, second: float, rng: np.random.Generator) -> Paired:
    """Scenes are hard or easy for both; on a quarter of them the two may differ."""
    hard, differs = rng.random(n) < 0.5, rng.random(n) < 0.25
    a = np.where(differs, rng.random(n) < first, ~hard)
    b = np.where(differs, rng.random(n) < second, ~hard)
    return paired(a.tolist(), b.tolist())


def test_counts() -> None:
    counts = paired([True, True, False, False, True], [True, False, True, False, False])
    assert counts == Paired(both=1, only_first=2, only_second=1, neither=1)
    assert counts.n == 5
    assert counts.difference == pytest.approx(0.2)
    with pytest.raises(InputError, match="same scenes"):
        paired([True], [])


def test_the_p_value_is_the_binomial_one() -> None:
    # 8 against 1 discordant: 2 * (C(9,0) + C(9,1)) / 2^9
    assert Paired(20, 8, 1, 30).p_value == pytest.approx(2 * (1 + 9) / 2**9)
    assert Paired(20, 0, 0, 30).p_value == 1.0


def test_it_keeps_its_level_and_sees_more_than_a_test_without_pairs() -> None:
    repeats, rng = 400, np.random.default_rng(SEED)
    same = [outcomes(80, 0.5, 0.5, rng) for _ in range(repeats)]
    # an exact test rejects at most 5%: 41 of 400 has a chance under 1e-5
    assert sum(counts.p_value < 0.05 for counts in same) <= 41
    other = [outcomes(80, 0.9, 0.2, rng) for _ in range(repeats)]
    seen = sum(counts.p_value < 0.05 for counts in other)
    unpaired = sum(stats.fisher_exact(table(counts)).pvalue < 0.05 for counts in other)
    assert seen > 0.85 * repeats
    assert unpaired < 0.6 * seen  # planted bug: the pairs are forgotten


def test_the_test_over_clusters_keeps_its_level_where_the_scenes_of_a_cluster_are_alike() -> None:
    repeats, rng = 400, np.random.default_rng(SEED + 2)
    clusters = np.repeat(np.arange(8), 5)
    rejected = as_scenes = 0
    for _ in range(repeats):
        first, second = (np.repeat(rng.random(8) < 0.5, 5).tolist() for _ in range(2))
        rejected += paired(first, second, clusters.tolist()).p_value < 0.05
        as_scenes += paired(first, second).p_value < 0.05
    assert rejected <= 41  # of 400, as above
    assert as_scenes > 100  # planted bug: the scenes of a cluster are taken as independent


def test_clusters_say_what_most_of_their_discordant_scenes_say() -> None:
    first = [True, True, False, True, False, True, True, False]
    second = [False, False, True, False, True, True, False, False]
    # cluster 0: two against one; 1: one against one; 2: one of the two; 3: none
    assert paired(first, second, [0, 0, 0, 1, 1, 2, 2, 3]) == Paired(0, 2, 0, 2)
    alone = paired(first, second, list(range(8)))
    assert alone.p_value == paired(first, second).p_value
    with pytest.raises(InputError, match="cluster each"):
        paired(first, second, [0])


def table(counts: Paired) -> list[list[int]]:
    first, second = counts.both + counts.only_first, counts.both + counts.only_second
    return [[first, counts.n - first], [second, counts.n - second]]


def coverage(interval_of: str) -> float:
    repeats, rng, covered = 500, np.random.default_rng(SEED + 1), 0
    truth = 0.25 * (0.9 - 0.2)
    for _ in range(repeats):
        counts = outcomes(60, 0.9, 0.2, rng)
        low, high = counts.interval
        if interval_of == "other way round":  # planted bug: second less first
            low, high = -high, -low
        covered += low <= truth <= high
    return covered / repeats


def test_the_interval_covers() -> None:
    # 500 repeats at 95%: below .90 has a chance under 1e-5
    assert coverage("as it is") >= 0.90
    assert coverage("other way round") < 0.5


def rejected(discordant: int, is_exact: bool) -> float:
    """The exact chance to reject at 5% if both are right equally often, given the number of discordant scenes."""
    first = np.arange(discordant + 1)
    if is_exact:
        p_values = np.array([Paired(0, int(k), discordant - int(k), 0).p_value for k in first])
    else:  # planted: McNemar's statistic, normal without any correction
        p_values = stats.chi2.sf((2 * first - discordant) ** 2 / discordant, 1)
    return float(stats.binom.pmf(first, discordant, 0.5)[p_values < 0.05].sum())


def test_it_keeps_its_level_at_every_number_of_discordant_scenes() -> None:
    assert all(rejected(n, is_exact=True) <= 0.05 for n in range(1, 60))
    assert max(rejected(n, is_exact=False) for n in range(1, 60)) > 0.06


def covers(counts_of: int, chance: float) -> float:
    """The exact coverage of a difference of 0 with n scenes that are each discordant with this chance."""
    total = 0.0
    for a in range(counts_of + 1):
        for b in range(counts_of + 1 - a):
            low, high = Paired(0, a, b, counts_of - a - b).interval
            cell = stats.multinomial.pmf(
                [a, b, counts_of - a - b], counts_of, [chance / 2, chance / 2, 1 - chance]
            )
            total += float(cell) * (low <= 0.0 <= high)
    return total


def test_few_discordant_scenes_leave_the_interval_its_width() -> None:
    """Without the added observations the interval of no discordant scene is a point."""
    low, high = Paired(5, 0, 0, 15).interval
    assert low < -0.1 and high > 0.1
    assert all(covers(15, chance) >= 0.95 for chance in (0.05, 0.2, 0.5))
