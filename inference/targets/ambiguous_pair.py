"""Torn between two answers, and only those (paper, equations 6 and 7).

u1 ~ Normal(|f_i - f_j|, width), u1* = 0;  u2 ~ Normal(min(f_i, f_j) - max of the others, width), u2* = .5.
Both factors have their mode at the exact tie f_i = f_j = .5.
"""

from __future__ import annotations

from dataclasses import dataclass

from trex.inference.targets.arrays import Array, smallest, stack
from trex.inference.targets.gaussian import (
    WIDTH,
    GaussianTarget,
    gaussian_target,
    label_indices,
    largest_other,
)
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats


@dataclass(frozen=True)
class PairTie:
    """(|f_i - f_j|, min(f_i, f_j) - max of the others)."""

    indices: tuple[int, int]
    answers: tuple[str, str]

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 2)."""
        f_i, f_j = probs[..., self.indices[0]], probs[..., self.indices[1]]
        least = smallest(probs[..., list(self.indices)])
        return stack([abs(f_i - f_j), least - largest_other(probs, self.indices)])

    def confidence(self, probs: Floats) -> float:
        """The smaller of the two probabilities: .5 at best."""
        return float(min(probs[list(self.indices)]))

    def describe(self) -> str:
        """Difference of the two, and their margin over the others."""
        i, j = self.answers
        return f"|P({i}) - P({j})| and min(P({i}), P({j})) - the largest other"


def ambiguous_pair(
    labels: tuple[str, ...], answers: tuple[str, str], width: float = WIDTH, tolerance: float | None = None
) -> GaussianTarget:
    """Both answers at one half."""
    i, j = label_indices(labels, answers)
    return gaussian_target(PairTie((i, j), answers), (0.0, 0.5), width, tolerance)


def _build(request: TargetRequest) -> GaussianTarget:
    one, other = request.answers
    return ambiguous_pair(request.labels, (one, other), width=request.width)


def _goal(request: TargetRequest) -> Goal:
    return Goal("is torn between", request.answers)


TARGET = TargetKind("ambiguous", (2, 2), _build, _goal)
