"""Whether a cheap look may lead surrogate transitions: does it rank scenes as the deciding look does?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.types import Floats

# Surrogate transitions break even with plain ones at about .5 overall and .35 in the top fifth, at equal cost and ratio
# 20 (benchmarks/kernels/KERNELS.md); .7 leaves a margin. A few dozen scenes hardly estimate the second (.3 to .9 for
# .7): with .3 most good looks pass, and four of five that are blind near the level set do not. If five such looks are
# asked of the same scenes, one of them passes in most cases: that costs pictures, and leaves transitions exact.
LEAST, LEAST_TOP = 0.7, 0.3
MAX_TOP_SHARE, LEAST_IN_TOP = 0.2, 8
LEAST_SCENES = 24


class Gate(NamedTuple):
    """Spearman's rank correlation over all scenes and within the top fifth; None where a look gives one value."""

    rank_correlation: float | None
    top_fifth: float | None
    passes: bool


def gate(cheap_log_weights: Floats, dear_log_weights: Floats) -> Gate:
    """Compare both looks' log weights (n,) of the same scenes; InputError for fewer than 24 or different numbers.

    Ties get the mean of their ranks. The top fifth (at least 8 scenes) is that of the deciding look; among scenes
    that tie at its edge the first are taken.
    """
    cheap, dear = np.asarray(cheap_log_weights, float), np.asarray(dear_log_weights, float)
    if cheap.shape != dear.shape or cheap.ndim != 1 or cheap.size < LEAST_SCENES:
        raise InputError(
            f"{cheap.size} and {dear.size} log weights do not compare two presets; score the same scenes at both, "
            f"at least {LEAST_SCENES}"
        )
    if np.isnan(cheap).any() or np.isnan(dear).any():
        raise InputError("a log weight is NaN; check the model's probabilities")
    top = np.argsort(-dear, kind="stable")[: max(LEAST_IN_TOP, round(MAX_TOP_SHARE * dear.size))]
    overall, near = _rank_correlation(cheap, dear), _rank_correlation(cheap[top], dear[top])
    passes = overall is not None and near is not None and overall >= LEAST and near >= LEAST_TOP
    return Gate(overall, near, passes)


def _rank_correlation(a: Floats, b: Floats) -> float | None:
    if np.all(a == a[0]) or np.all(b == b[0]):
        return None
    from scipy.stats import spearmanr  # importing scipy takes time that reading a query need not

    return float(spearmanr(a, b).statistic)
