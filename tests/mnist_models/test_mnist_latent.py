"""The prior and the walk of the latent world: what is drawn is what the densities say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.types import Floats, Prior, Proposal
from trex.mnist_models.latent import StandardNormal

D = 5
GIVEN = np.array([0.3, -1.2, 0.0, 2.0, 0.7])
PRIOR: Prior[Floats] = StandardNormal(D)
WALK: Proposal[Floats] = GaussianWalk(0.4)
GRID = np.linspace(-8.0, 8.0, 3201)


def cumulative(log_density: Callable[[Floats], float], point: Floats, axis: int) -> Floats:
    """The distribution function along one coordinate on GRID, by integrating the density that is claimed."""
    logs = np.array([log_density(np.where(np.arange(D) == axis, x, point)) for x in GRID])
    mass = np.exp(logs - logs.max())
    total: Floats = np.cumsum(mass) - 0.5 * mass
    return total / mass.sum()


def smallest_p_value(draws: Floats, log_density: Callable[[Floats], float], center: Floats) -> float:
    """Kolmogorov-Smirnov of each coordinate and chi-square of their signs' patterns against independence."""
    p_values = []
    for axis in range(D):
        along = cumulative(log_density, center, axis)
        p_values.append(stats.kstest(np.interp(draws[:, axis], GRID, along), "uniform").pvalue)
    pattern = ((draws > center) @ (2 ** np.arange(D))).astype(int)
    p_values.append(stats.chisquare(np.bincount(pattern, minlength=2**D)).pvalue)
    return float(min(p_values)) * len(p_values)


def drawn(item: Callable[[np.random.Generator], Floats], n: int = 6_000) -> Floats:
    rng = np.random.default_rng(5)
    return np.array([item(rng) for _ in range(n)])


def test_prior_draws_have_the_prior_density() -> None:
    draws = drawn(PRIOR.sample)
    assert smallest_p_value(draws, PRIOR.log_density, np.zeros(D)) > ALPHA
    assert smallest_p_value(1.1 * draws, PRIOR.log_density, np.zeros(D)) < ALPHA  # planted: too wide
    bound = draws.copy()
    bound[:, 1] = bound[:, 0]  # planted: two coordinates are one
    assert smallest_p_value(bound, PRIOR.log_density, np.zeros(D)) < ALPHA


def test_the_prior_density_is_normalized() -> None:
    z = np.array([0.5, -1.0, 2.0, 0.0, 0.1])
    assert PRIOR.log_density(z) == pytest.approx(stats.multivariate_normal(np.zeros(D)).logpdf(z), abs=1e-12)


@pytest.mark.parametrize(("scale", "is_right"), [(0.4, True), (0.36, False)])
def test_the_walk_proposes_by_its_density(scale: float, is_right: bool) -> None:
    """Planted: a walk that steps by another scale than its density says."""
    draws = drawn(lambda rng: GaussianWalk(scale).propose(rng, GIVEN))
    p_value = smallest_p_value(draws, lambda to: WALK.log_q(to, GIVEN), GIVEN)
    assert (p_value > ALPHA) == is_right
    normal = stats.multivariate_normal(GIVEN, 0.16 * np.eye(D))
    assert WALK.log_q(draws[0], GIVEN) == pytest.approx(normal.logpdf(draws[0]), abs=1e-9)
    assert WALK.log_q(draws[0], GIVEN) == pytest.approx(WALK.log_q(GIVEN, draws[0]), abs=1e-9)
