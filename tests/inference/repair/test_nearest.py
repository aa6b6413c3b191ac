"""Nearest neighbors against the whole table of distances, and the share of farther pairs against scipy's U."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from trex.inference.repair.nearest import nearest, share_farther


def test_neighbors_are_those_of_the_whole_table_and_a_copy_is_at_distance_0() -> None:
    rng = np.random.default_rng(4)
    known, vectors = rng.random((700, 12)), rng.random((40, 12))
    copied = np.array([3, 499, 699])  # in both blocks
    vectors[:3] = known[copied]
    row, distance = nearest(vectors, [known[:500], known[500:]])
    table = np.linalg.norm(vectors[:, None] - known[None], axis=2)
    assert (row == table.argmin(axis=1)).all() and (row[:3] == copied).all()
    assert np.allclose(distance, table.min(axis=1), atol=1e-12)
    assert (distance[:3] == 0.0).all() and (distance[3:] > 0.05).all()
    known[copied] += 1e-9  # planted: a picture that is nearly a copy is none
    assert (nearest(vectors, [known])[1][:3] > 0.0).all()


def test_the_first_of_equal_rows_is_named() -> None:
    row, distance = nearest(np.zeros((1, 2)), [np.ones((3, 2)), np.zeros((4, 2)), np.zeros((4, 2))])
    assert row.tolist() == [3] and distance.tolist() == [0.0]


def test_the_share_of_farther_pairs_is_mann_and_whitneys() -> None:
    rng = np.random.default_rng(7)
    array, other = rng.integers(0, 9, 50).astype(float), rng.integers(2, 12, 70).astype(float)  # with ties
    u = mannwhitneyu(array, other).statistic
    assert share_farther(array, other) == pytest.approx(u / (50 * 70))
    assert share_farther(array, array) == 0.5 and share_farther(array + 100, other) == 1.0
    assert share_farther(array, other) != pytest.approx(share_farther(other, array))


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing to be near"):
        nearest(np.zeros((1, 2)), [])
    with pytest.raises(ValueError, match="nothing to compare"):
        share_farther(np.zeros(0), np.zeros(3))
