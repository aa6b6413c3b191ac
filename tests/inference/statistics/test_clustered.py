"""The interval of a share by clusters holds where clusters are few, which takes the degrees of freedom."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.inference.statistics.clustered import clustered_interval

REPEATS = 1_000


def coverage(n_clusters: int, size: int = 25) -> int:
    """How many intervals hold .4, for clusters with shares from Beta(4, 6)."""
    rng, covered = np.random.default_rng(21), 0
    for _ in range(REPEATS):
        hits = rng.binomial(size, rng.beta(4.0, 6.0, n_clusters))
        low, high = clustered_interval(hits.tolist(), [size] * n_clusters)
        covered += low <= 0.4 <= high
    return covered


@pytest.mark.parametrize("n_clusters", [3, 4, 8])
def test_few_clusters_are_covered(n_clusters: int) -> None:
    assert stats.binom.cdf(coverage(n_clusters), REPEATS, 0.95) > ALPHA


def test_without_degrees_of_freedom_three_clusters_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the variance between three clusters is taken as known."""
    monkeypatch.setattr(stats.t, "ppf", lambda q, df: stats.norm.ppf(q))
    assert stats.binom.cdf(coverage(3), REPEATS, 0.95) < ALPHA
