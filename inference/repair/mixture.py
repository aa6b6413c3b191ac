"""A Gaussian mixture with a Dirichlet-process prior on the codes of mistakes (Blei and Jordan 2006).

Variational inference from a k-means start may split one Gaussian into two or three that overlap: what it keeps are
pieces of the mistakes, not necessarily separate causes. The only file that imports sklearn.mixture: truncated
stick-breaking, full covariances, and scikit-learn's defaults except for the number of iterations.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEAR = 0.2  # a weight within this share of the cut-off is near it
RESPONSIBLE = 0.5  # a code belongs to a component whose responsibility exceeds this
INSIDE = 0.9  # of a component's ellipsoid


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """K components: weights (K,), means (K, d), covariances (K, d, d); and how the fit ended."""

    weights: Floats
    means: Floats
    covariances: Floats
    converged: bool
    iterations: int
    bound: float

    def kept(self, cutoff: float, assigned: Ints) -> Ints:
        """Components heavier than the cut-off, heaviest first.

        One to which no code is assigned (n,) is left out: with few codes the prior alone can give it such a weight.
        """
        order: Ints = np.argsort(-self.weights, kind="stable")
        return order[(self.weights[order] > cutoff) & np.isin(order, assigned)]

    def near(self, cutoff: float) -> int:
        """The number of components whose weight lies within a fifth of the cut-off."""
        return int((np.abs(self.weights - cutoff) <= NEAR * cutoff).sum())

    def responsibilities(self, codes: Floats) -> Floats:
        """Posterior probabilities (n, K) of the components given codes (n, d), at the mean parameters."""
        if not len(codes):
            return np.zeros((0, len(self.weights)))
        with np.errstate(divide="ignore"):
            logs = np.stack([self._log_density(codes, k) for k in range(len(self.weights))], axis=1)
            logs += np.log(self.weights)
        shifted = np.exp(logs - logs.max(axis=1, keepdims=True))
        found: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        return found

    def members(self, codes: Floats) -> Ints:
        """The component (n,) whose responsibility for a code exceeds one half; -1 for none."""
        found = self.responsibilities(codes)
        if not len(found):
            return np.zeros(0, np.int64)
        best = found.argmax(axis=1)
        return np.where(found.max(axis=1) > RESPONSIBLE, best, -1)

    def inside(self, codes: Floats) -> Ints:
        """As `members`, and within the component's 90% ellipsoid; -1 for none.

        Responsibilities are relative: a code far from every component still belongs to one of them.
        """
        from scipy.stats import chi2

        members = self.members(codes)
        limit = float(chi2.ppf(INSIDE, self.means.shape[1]))
        for k in np.unique(members[members >= 0]):
            rows = np.flatnonzero(members == k)
            members[rows[self._distances(codes[rows], int(k)) > limit]] = -1
        return members

    def draw(self, rng: np.random.Generator, component: int, tau: float, n: int) -> Floats:
        """(n, d) codes from N(mean, tau * covariance) of a component: its standard deviations shrink by sqrt(tau)."""
        factor = np.linalg.cholesky(self.covariances[component])
        steps = rng.standard_normal((n, self.means.shape[1]))
        drawn: Floats = self.means[component] + np.sqrt(tau) * steps @ factor.T
        return drawn

    def _distances(self, codes: Floats, k: int) -> Floats:
        """Squared Mahalanobis distances (n,)."""
        solved = np.linalg.solve(np.linalg.cholesky(self.covariances[k]), (codes - self.means[k]).T)
        distances: Floats = (solved**2).sum(axis=0)
        return distances

    def _log_density(self, codes: Floats, k: int) -> Floats:
        _, log_determinant = np.linalg.slogdet(2.0 * np.pi * self.covariances[k])
        density: Floats = -0.5 * (self._distances(codes, k) + log_determinant)
        return density


def fit_mixture(codes: Floats, components: int, iterations: int, seed: int) -> GaussianMixture:
    """The mixture of codes (n, d) with at most `components` components; InputError for fewer than 2 d codes or two."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import BayesianGaussianMixture

    n, d = codes.shape
    if n < max(2, 2 * d) or not d:
        raise InputError(
            f"{n} mistakes in {d} dimensions are too few for a mixture (at least {max(2, 2 * d)} that differ); raise "
            "identify.seeds or identify.draws"
        )
    model = BayesianGaussianMixture(
        n_components=min(components, n),
        covariance_type="full",
        weight_concentration_prior_type="dirichlet_process",
        max_iter=iterations,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` says so
        model.fit(codes)
    return GaussianMixture(
        np.asarray(model.weights_, float),
        np.asarray(model.means_, float),
        np.asarray(model.covariances_, float),
        bool(model.converged_),
        int(model.n_iter_),
        float(model.lower_bound_),
    )


def adjusted_rand(first: Ints, second: Ints) -> float:
    """The adjusted Rand index of two partitions (Hubert and Arabie 1985): 1 for the same, 0 by chance."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(first, second))
