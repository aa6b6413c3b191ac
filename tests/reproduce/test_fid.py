"""FID against closed forms, and what it must tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from reproduce.fid.distance import Moments, frechet_distance, moments
from trex.foundation.errors import InputError


def random_covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    matrix = rng.standard_normal((d, d))
    return np.asarray(matrix @ matrix.T + 0.1 * np.eye(d))


def test_the_distance_of_normals_in_one_dimension() -> None:
    """(m1 - m2)^2 + (s1 - s2)^2 (Dowson and Landau 1982)."""
    a = Moments(np.array([1.0]), np.array([[4.0]]))
    b = Moments(np.array([4.0]), np.array([[0.25]]))
    assert frechet_distance(a, b) == pytest.approx(9.0 + 1.5**2)


def test_the_distance_equals_the_formula_with_a_general_square_root() -> None:
    rng = np.random.default_rng(1)
    for d in (2, 7, 30):
        a = Moments(rng.standard_normal(d), random_covariance(rng, d))
        b = Moments(rng.standard_normal(d), random_covariance(rng, d))
        root = np.real(linalg.sqrtm(a.covariance @ b.covariance))
        gap = a.mean - b.mean
        literal = gap @ gap + np.trace(a.covariance + b.covariance - 2.0 * root)
        assert frechet_distance(a, b) == pytest.approx(literal, rel=1e-9)
        assert frechet_distance(a, b) == pytest.approx(frechet_distance(b, a), rel=1e-9)
        assert frechet_distance(a, a) == pytest.approx(0.0, abs=1e-8)
        without_root = (
            gap @ gap + np.trace(a.covariance + b.covariance) - 2.0 * np.trace(a.covariance @ b.covariance)
        )  # planted: the root forgotten
        assert frechet_distance(a, b) != pytest.approx(without_root, rel=1e-3)


def test_features_that_never_fire_do_no_harm() -> None:
    """Covariances without full rank: the two dead features add nothing, a third adds its own variance."""
    rng = np.random.default_rng(2)
    live = rng.standard_normal((500, 3))
    dead = np.hstack([live, np.zeros((500, 2))])
    other = np.hstack([2.0 * live + 1.0, np.zeros((500, 2))])
    expected = frechet_distance(moments(live), moments(2.0 * live + 1.0))
    assert frechet_distance(moments(dead), moments(other)) == pytest.approx(expected, rel=1e-9)
    woken = other.copy()
    woken[:, 3] = rng.standard_normal(500)
    assert frechet_distance(moments(dead), moments(woken)) > expected + 0.5


def test_samples_of_known_normals_come_near_their_distance() -> None:
    """Mean shift 1 in each of 4 coordinates, standard deviation doubled: 4 + 4 = 8; equal ones: 0."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((20_000, 4)), 1.0 + 2.0 * rng.standard_normal((20_000, 4))
    assert frechet_distance(moments(a), moments(b)) == pytest.approx(8.0, abs=0.3)
    assert frechet_distance(moments(a), moments(rng.standard_normal((20_000, 4)))) < 0.01


def test_too_few_features_are_refused() -> None:
    with pytest.raises(InputError, match="at least 2"):
        moments(np.zeros((1, 3)))
