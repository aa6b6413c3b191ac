"""The interval of a share that is estimated by a weighted sum, such as hits with weights 1 / inclusion probability.

Clopper and Pearson (1934, Biometrika 26, 404-413) with effective counts. The upper end supposes one more hit of the
heaviest weight that the design could have given, seen or not: Fay and Feuer (1997, Statistics in Medicine 16,
791-801), who do so for sums of Poisson counts. The effective number of draws is that of Korn and Graubard (1998,
Survey Methodology 24, 193-201). With all weights 1 it is Clopper and Pearson's interval itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.statistics.proportion import Interval
from trex.inference.types import Floats

ROUNDING = 1e-12
CLEARLY = 0.75  # of the weight of all that were seen


def weighted_interval(
    values: Floats, weights: Floats, n: int, heaviest: float, level: float = 0.95
) -> Interval:
    """The interval of the mean value among all that n independent draws stand for, estimated by sum(w v) / n.

    `values` (k,) in [0, 1] are hits as 0 and 1, or relative weights; `weights` (k,) are at least 1; `heaviest` is
    the largest weight that any of the n could have had. Above one half it is the interval of 1 - values, mirrored,
    because the sum over nearly all weights is noisier than that of the few missing. If the sum is below one half though
    nearly all hit that were seen, the upper end is the mirrored one.
    """
    _check(values, weights, heaviest)
    low, high = weighted_bounds(weights @ values, weights**2 @ values, heaviest, n, level)
    if may_be_most(values, weights, n):
        rare = 1.0 - values
        least, most = weighted_bounds(weights @ rare, weights**2 @ rare, heaviest, n, level)
        low, high = (1.0 - most, 1.0 - least) if is_most(values, weights, n) else (low, 1.0 - least)
    return Interval(float(low), float(high))


def is_most(values: Floats, weights: Floats, n: int) -> bool:
    """Whether the mean value among all n is estimated above one half."""
    return float(weights @ values) > n / 2


def may_be_most(values: Floats, weights: Floats, n: int) -> bool:
    """Whether it is, or may be because nearly all hit that were seen: few weights often sum to less than n / 2."""
    return is_most(values, weights, n) or float(weights @ values) > CLEARLY * float(weights.sum())


def weighted_bounds(
    total: Floats | float, squares: Floats | float, heaviest: float, n: int, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends from total = sum(w v) and squares = sum(w^2 v), arrays of any one shape.

    squares estimates the variance of total, but for the binomial part of the first phase, without the knowledge that
    values between 0 and 1 vary less than hits.
    """
    from scipy.stats import beta

    tail, total = (1.0 - level) / 2.0, np.minimum(np.asarray(total, float), n)
    hits, misses = _lower(total, squares, n)
    low = beta.ppf(tail, np.maximum(hits, ROUNDING), misses)
    above, below = _upper(total, squares, heaviest, n)
    high = beta.ppf(1.0 - tail, above, np.maximum(below, ROUNDING))
    return np.where(total > 0.0, low, 0.0), np.where(below > 0.0, high, 1.0)


def upper_counts(values: Floats, weights: Floats, n: int, heaviest: float) -> tuple[float, float]:
    """The parameters of the Beta distribution whose quantiles are the upper ends: (k + 1, n - k) without weights.

    Above one half they are those of the lower ends of 1 - values, mirrored, as in `weighted_interval`.
    """
    _check(values, weights, heaviest)
    if may_be_most(values, weights, n):
        below, above = _lower(weights @ (1.0 - values), weights**2 @ (1.0 - values), n)
    else:
        above, below = _upper(weights @ values, weights**2 @ values, heaviest, n)
    return float(above), max(float(below), ROUNDING)


def _lower(
    total: Floats | float, squares: Floats | float, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The parameters of the Beta distribution whose quantiles are the lower ends: (k, n - k + 1) without weights."""
    known: Floats = np.minimum(np.asarray(total, dtype=np.float64), float(n))
    share: Floats = known / n
    typical: Floats = np.asarray(np.where(known > 0.0, squares / np.where(known > 0.0, known, 1.0), 1.0))
    size = n / typical * _narrowed(share, typical)
    return share * size, (1.0 - share) * size + 1.0


def _upper(
    total: Floats | float, squares: Floats | float, heaviest: float, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total = np.asarray(total, float)
    feared = (np.asarray(squares, float) + heaviest**2) / (total + heaviest)
    factor = _narrowed(total / n, feared)
    hits = factor * ((total + heaviest) / feared - 1.0)
    return hits + 1.0, factor * n / feared - hits


def _narrowed(share: Floats, typical: Floats) -> Floats:
    """Korn and Graubard's effective number of draws over n / typical: the weighting's variance has no factor 1 - p."""
    array = 1.0 - share / typical
    ratio: Floats = np.where(array > ROUNDING, (1.0 - share) / np.maximum(array, ROUNDING), 1.0)
    return ratio


def _check(values: Floats, weights: Floats, heaviest: float) -> None:
    if values.shape != weights.shape or values.ndim != 1:
        raise InputError(f"values {values.shape} and weights {weights.shape} must be two lists of one length")
    if np.any(~((values >= 0.0) & (values <= 1.0))):
        raise InputError(
            f"values from {values.min()} to {values.max()}; hits and relative weights lie in 0 to 1"
        )
    if np.any(~((weights >= 1.0 - ROUNDING) & (weights <= heaviest * (1.0 + ROUNDING)))):
        raise InputError(
            f"weights from {weights.min()} to {weights.max()}; 1 / inclusion lies in 1 to {heaviest}, the heaviest"
        )
