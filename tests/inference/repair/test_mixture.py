"""The mixture recovers what was planted, and its densities are those of its definition.

Nearest neighbors are those of the whole table of distances, and the share of farther pairs is scipy's U.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, mannwhitneyu, multivariate_normal

from trex.foundation.errors import InputError
from trex.inference.repair.mixture import GaussianMixture, adjusted_rand, fit_mixture
from trex.inference.repair.nearest import nearest, share_farther
from trex.inference.rng import stream

ALPHA = 1e-5
MEANS = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 1.0]])
FACTORS = np.array([[[1.0, 0, 0], [0.5, 0.8, 0], [0, 0, 0.4]], [[0.5, 0, 0], [0, 0.5, 0], [0.2, 0, 0.7]]])
COVARIANCES = FACTORS @ FACTORS.transpose(0, 2, 1)
SHARES = np.array([0.7, 0.3])
TRUE = GaussianMixture(SHARES, MEANS, COVARIANCES, True, 1, 0.0)
N = 1000


def planted(second: float = 0.3) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rng = stream(11, 0)
    sizes = (N - round(second * N), round(second * N))
    return np.concatenate([TRUE.draw(rng, k, 1.0, size) for k, size in enumerate(sizes)])


def is_recovered(codes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    """Whether the fit has the two planted components: weights to .03, and means within their sampling error."""
    fitted = fit_mixture(codes, 8, 10_000, 5)
    kept = fitted.kept(0.01, fitted.responsibilities(codes).argmax(axis=1))
    if len(kept) != 2 or np.abs(fitted.weights[kept] - SHARES).max() > 0.03:
        return False
    off = fitted.means[kept] - MEANS
    sizes = N * SHARES
    far = [size * item @ np.linalg.solve(covariance, item) for size, item, covariance in zip(
        sizes, off, COVARIANCES, strict=True
    )]  # fmt: skip
    return max(far) < chi2.isf(ALPHA / 2, 3) + 1.0  # the prior of mean 0 pulls each mean a little


def test_two_planted_gaussians_are_recovered_and_other_shares_are_not_taken_for_them() -> None:
    assert is_recovered(planted())
    assert not is_recovered(planted(second=0.45))
    assert not is_recovered(planted() + np.array([0.3, 0.0, 0.0]))


def test_responsibilities_are_bayes_rule() -> None:
    codes = planted()[::100]
    densities = np.stack(
        [multivariate_normal(m, c).pdf(codes) for m, c in zip(MEANS, COVARIANCES, strict=True)], 1
    )
    expected = SHARES * densities / (SHARES * densities).sum(1, keepdims=True)
    assert TRUE.responsibilities(codes) == pytest.approx(expected)
    between = np.array([[3.0, 0.0, 0.5], [100.0, 0.0, 0.0]])
    assert TRUE.members(between)[1] >= 0  # responsible, however far away
    assert TRUE.inside(between)[1] == -1


def test_nine_tenths_of_draws_lie_inside_and_tau_scales_the_covariance() -> None:
    draws = TRUE.draw(stream(2, 1), 1, 1.0, 20_000)
    inside = (TRUE.inside(draws) == 1).mean()
    assert abs(inside - 0.9) < 4.5 * np.sqrt(0.09 / 20_000)  # 1e-5
    narrow = TRUE.draw(stream(2, 1), 1, 0.25, 20_000)
    assert narrow - MEANS[1] == pytest.approx(
        0.5 * (draws - MEANS[1])
    )  # the root: a quarter would be the bug


def test_near_the_cut_off_is_within_a_fifth_of_it() -> None:
    weights = np.array([0.9, 0.0121, 0.0119, 0.0081, 0.0079, 0.06])
    mixture = GaussianMixture(weights, np.zeros((6, 1)), np.ones((6, 1, 1)), True, 1, 0.0)
    assert mixture.near(0.01) == 2
    everywhere = np.arange(6)
    assert mixture.kept(0.01, everywhere).tolist() == [0, 5, 1, 2]
    assert mixture.kept(0.01, everywhere[:5]).tolist() == [0, 1, 2]  # heavy, and no code belongs to it


def test_too_few_codes_are_refused_and_an_unfinished_fit_says_so() -> None:
    with pytest.raises(InputError, match="too few"):
        fit_mixture(np.zeros((5, 3)), 2, 10, 0)
    for codes in (
        np.zeros((1, 0)),
        np.zeros((1, 1)),
        np.zeros((6, 0)),
    ):  # one mistake, or equal ones: no axis
        with pytest.raises(InputError, match="are too few for a mixture"):
            fit_mixture(codes, 2, 10, 0)
    assert not fit_mixture(planted(), 20, 1, 5).converged


def test_the_rand_index_forgives_other_numbers_and_nothing_else() -> None:
    first = np.array([0, 0, 1, 1, 2, 2])
    assert adjusted_rand(first, np.array([2, 2, 0, 0, 1, 1])) == 1.0
    assert adjusted_rand(first, np.array([0, 1, 0, 1, 0, 1])) < 0.1


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
