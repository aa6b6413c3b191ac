"""Frechet distance between two sets of features (FID: Heusel et al. 2017, https://arxiv.org/abs/1706.08500, eq. 6).

Published values use the features of an Inception network trained on ImageNet (`inception.py`). The others use the
last hidden layer of a classifier of the same data set: values of the two must never be compared
(`fid_features.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from trex.foundation.errors import InputError

Floats = NDArray[np.float64]


class Moments(NamedTuple):
    """Mean (d,) and covariance (d, d) of features."""

    mean: Floats
    covariance: Floats


def moments(features: NDArray[np.float32] | NDArray[np.float64]) -> Moments:
    """The moments of features (N, d), N >= 2; the covariance is the unbiased estimate."""
    if features.ndim != 2 or len(features) < 2:
        raise InputError(f"features are {features.shape}; a covariance needs (N, d) with N of at least 2")
    wide = features.astype(np.float64)
    return Moments(wide.mean(axis=0), np.atleast_2d(np.cov(wide, rowvar=False)))


def frechet_distance(a: Moments, b: Moments) -> float:
    """|m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a C_b)^(1/2)), also for covariances without full rank.

    The trace of the root equals that of (C_a^(1/2) C_b C_a^(1/2))^(1/2), which is symmetric: no complex rounding
    error.
    """
    root = _root(a.covariance)
    shared = linalg.eigvalsh(root @ b.covariance @ root)
    overlap = float(np.sqrt(np.clip(shared, 0.0, None)).sum())
    gap = a.mean - b.mean
    return float(gap @ gap + np.trace(a.covariance) + np.trace(b.covariance) - 2.0 * overlap)


def _root(covariance: Floats) -> Floats:
    """The symmetric square root of a covariance; negative eigenvalues are rounding errors and count as 0."""
    values, vectors = linalg.eigh(covariance)
    root: Floats = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return root
