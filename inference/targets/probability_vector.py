"""Any probability vector: u_k ~ Normal(f_k, width) for every answer k, u* = p (Bayes-TrEx)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.words import percent
from trex.inference.targets.arrays import Array
from trex.inference.targets.gaussian import WIDTH, GaussianTarget, gaussian_target, label_index
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats


@dataclass(frozen=True)
class AllProbabilities:
    """f itself; `wanted` is the vector for the displayed agreement."""

    wanted: tuple[float, ...]
    words: str

    def __call__(self, probs: Array) -> Array:
        """(..., K)."""
        return probs

    def confidence(self, probs: Floats) -> float:
        """1 - total variation distance from the wanted vector."""
        return 1.0 - 0.5 * float(np.abs(probs - np.array(self.wanted)).sum())

    def describe(self) -> str:
        """The wanted vector, zeros left out."""
        return f"all probabilities at {self.words}, others 0"


def probability_vector(
    labels: tuple[str, ...], probs: Mapping[str, float], width: float = WIDTH, tolerance: float | None = None
) -> GaussianTarget:
    """The given probabilities, 0 for all other answers; InputError unless they sum to 1."""
    for answer, p in probs.items():
        label_index(labels, answer)
        if not 0.0 <= p <= 1.0:
            raise InputError(f"P({answer}) = {p} is not a probability; give a number from 0 to 1")
    total = math.fsum(probs.values())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"the probabilities sum to {total:.6g}, not 1; name every answer that is not 0")
    wanted = tuple(float(probs.get(label, 0.0)) for label in labels)
    words = ", ".join(f"P({answer}) = {p:g}" for answer, p in probs.items() if p > 0.0)
    return gaussian_target(AllProbabilities(wanted, words), wanted, width, tolerance)


def _build(request: TargetRequest) -> GaussianTarget:
    return probability_vector(request.labels, request.probabilities, width=request.width)


def _goal(request: TargetRequest) -> Goal:
    return Goal("gives", tuple(f"{answer}: {percent(p)}" for answer, p in request.probabilities.items()))


TARGET = TargetKind("probabilities", (0, 0), _build, _goal, takes_probabilities=True)
