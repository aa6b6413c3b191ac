"""How far confidence and accuracy lie apart, and the interval of a mean over training runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.statistics.proportion import Interval

BINS = 15  # as in Guo et al. 2017


def expected_calibration_error(
    confidence: NDArray[np.float64], is_right: NDArray[np.bool_], bins: int = BINS
) -> float:
    """The mean distance of accuracy from confidence (n,), in equal bins of confidence weighted by their pictures.

    Naeini et al. 2015, as in Guo et al. 2017 (arXiv:1706.04599, equation 3); 0 for no pictures. InputError unless
    each picture has a confidence in [0, 1].
    """
    if confidence.shape != is_right.shape or confidence.ndim != 1:
        raise InputError(
            f"{confidence.shape} confidences and {is_right.shape} outcomes are not of the same pictures"
        )
    if not len(confidence):
        return 0.0
    if not (confidence.min() >= 0.0 and confidence.max() <= 1.0):
        raise InputError(
            f"confidences reach from {confidence.min():g} to {confidence.max():g}, not within 0 and 1"
        )
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    excess = np.bincount(place, weights=confidence - is_right, minlength=bins)
    return float(np.abs(excess).sum() / len(confidence))


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The interval of the mean of values, one for each independent cluster, e.g. training run (Student's t).

    It has no bound for fewer than two values.
    """
    from scipy.stats import t

    n = len(values)
    if n < 2:
        return Interval(-np.inf, np.inf)
    half = float(t.ppf(0.5 + level / 2.0, n - 1)) * float(np.std(values, ddof=1)) / float(np.sqrt(n))
    mean = float(np.mean(values))
    return Interval(mean - half, mean + half)
