"""Dispersed starts: near the level set, one per cluster, and by weight over inclusion probability."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.foundation.errors import InputError
from trex.inference.chains import tempering_power
from trex.inference.starts import dispersed_starts
from trex.inference.types import Floats


def near(a: float, b: float) -> bool:
    return abs(a - b) < 0.1


def bank(n_clusters: int, per_cluster: int, n_far: int = 200) -> tuple[list[float], Floats]:
    """Clusters of good scenes at 0, 1, 2, ... and scenes far from the level set, each alone."""
    good = [c + 0.01 * i for c in range(n_clusters) for i in range(per_cluster)]
    far = [1_000.0 + i for i in range(n_far)]
    return good + far, np.array([-1.0] * len(good) + [-200.0] * n_far)


def cluster_of(index: int, per_cluster: int) -> int:
    return index // per_cluster


@pytest.mark.parametrize("seed", range(10))
def test_each_chain_starts_in_a_cluster_of_its_own(seed: int) -> None:
    zs, log_weights = bank(12, 5)
    picked = dispersed_starts(seed, zs, log_weights, np.ones(len(zs)), near, 8)
    assert len(set(picked)) == 8 and max(picked) < 60  # none of those far from the level set
    assert len({cluster_of(i, 5) for i in picked}) == 8


def test_a_cluster_gives_a_second_start_only_when_every_comparable_one_has_given_one() -> None:
    zs, log_weights = bank(3, 8)
    picked = dispersed_starts(1, zs, log_weights, np.ones(len(zs)), near, 8)
    assert sorted(Counter(cluster_of(i, 8) for i in picked).values()) == [2, 3, 3]


def test_one_big_cluster_does_not_take_the_starts_of_small_ones() -> None:
    """Without clusters, 30 of the 35 good scenes would give nearly all starts."""
    zs = [0.001 * i for i in range(30)] + [float(c) for c in range(1, 6)] + [1_000.0 + i for i in range(200)]
    log_weights = np.array([-1.0] * 35 + [-200.0] * 200)
    picked = dispersed_starts(2, zs, log_weights, np.ones(len(zs)), near, 6)
    assert sorted(i for i in picked if i >= 30) == [30, 31, 32, 33, 34]


def shares(log_weights: Floats, inclusion: Floats, runs: int = 3_000) -> Floats:
    """How often one chain starts at each of the scenes, all far apart."""
    zs = [float(i) for i in range(log_weights.size)]
    picked = [dispersed_starts(seed, zs, log_weights, inclusion, near, 1)[0] for seed in range(runs)]
    return np.bincount(picked, minlength=log_weights.size).astype(np.float64)


def due(log_weights: Floats, inclusion: Floats) -> Floats:
    """Tempered weight over inclusion probability, of the comparable scenes alone."""
    power = tempering_power(log_weights, min(2.0, 0.9 * log_weights.size))
    weights = np.exp(power * log_weights) / inclusion
    weights[weights < 0.05 * weights.max()] = 0.0
    return weights / weights.sum()  # type: ignore[no-any-return]


LOG_WEIGHTS = np.array([0.0, -0.5, -1.0, -0.2, -1.5])
INCLUSION = np.array([1.0, 0.5, 0.25, 1.0, 0.2])


@pytest.mark.parametrize(
    ("log_weights", "inclusion"),
    [
        pytest.param(LOG_WEIGHTS, INCLUSION, id="right"),
        pytest.param(np.zeros(5), INCLUSION, id="planted-weights-ignored"),
        pytest.param(LOG_WEIGHTS, np.ones(5), id="planted-inclusion-ignored"),
    ],
)
def test_starts_follow_weight_over_inclusion(log_weights: Floats, inclusion: Floats) -> None:
    counts = shares(log_weights, inclusion)
    p_value = stats.chisquare(counts, counts.sum() * due(LOG_WEIGHTS, INCLUSION)).pvalue
    is_right = log_weights is LOG_WEIGHTS and inclusion is INCLUSION
    assert bool(p_value > ALPHA) is is_right


def test_flat_and_impossible_weights_still_give_distinct_starts() -> None:
    zs = [float(i) for i in range(20)]
    ends = (np.full(20, -200.0), np.array([-3.0] + [-np.inf] * 19), np.full(20, -np.inf))
    for log_weights in ends:
        assert len(set(dispersed_starts(0, zs, log_weights, np.ones(20), near, 8))) == 8


def test_with_fewer_scenes_than_chains_each_starts_one_before_any_starts_another() -> None:
    """A bank's random sample may be smaller than the number of chains."""
    zs, log_weights = [0.0, 0.01, 5.0], np.array([-1.0, -2.0, -1.5])
    for seed in range(10):
        picked = dispersed_starts(seed, zs, log_weights, np.ones(3), near, 8)
        assert len(picked) == 8
        assert all(set(picked[k : k + 3]) == {0, 1, 2} for k in (0, 3))


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="8 chains need evaluated scenes"):
        dispersed_starts(0, [], np.zeros(0), np.ones(0), near, 8)
    with pytest.raises(InputError, match="inclusion"):
        dispersed_starts(0, [0.0, 1.0], np.zeros(2), np.array([0.0, 1.0]), near, 1)
