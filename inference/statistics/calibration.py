"""How far confidence and accuracy lie apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError

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
