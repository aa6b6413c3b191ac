"""Tells probabilities from logits, by their rows for the probe pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROUNDING = 0.0101  # of a sum of probabilities computed with 16 bits: bfloat16 has 8 binary digits
WHOLES = (1.0, 100.0)  # what probabilities, and percentages, add up to


def are_probabilities(rows: NDArray[np.float64]) -> bool:
    """Whether all rows (B, K) look like probabilities or percentages, to which no softmax may be applied again.

    Logits may do so by chance for one picture, hardly for two different ones.
    """
    is_whole = [bool((np.abs(rows.sum(axis=1) / whole - 1) <= ROUNDING).all()) for whole in WHOLES]
    return bool((rows >= 0).all()) and any(is_whole)


def softmaxed_twice(k: int, advice: str) -> str:
    """What an error says of a model of k answers that returns probabilities where logits are expected."""
    most = np.e / (np.e + k - 1)
    return (
        "returns what looks like probabilities, not logits: on both probe pictures the rows are at "
        f"least 0 and add up to 1 (or 100); with a second softmax no answer could get above {most:.2f}; {advice}"
    )
