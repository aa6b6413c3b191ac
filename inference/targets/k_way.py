"""Torn between k answers, and only those: the paper's pair (equations 6 and 7) for any k."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.inference.targets.arrays import Array, largest, smallest, stack
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
class Tie:
    """(max - min over the named answers, their min - max of the others)."""

    indices: tuple[int, ...]
    answers: tuple[str, ...]

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 2)."""
        named = probs[..., list(self.indices)]
        least = smallest(named)
        return stack([largest(named) - least, least - largest_other(probs, self.indices)])

    def confidence(self, probs: Floats) -> float:
        """The smallest of the named probabilities: 1/k at best."""
        return float(probs[list(self.indices)].min())

    def describe(self) -> str:
        """Spread of the named, and their margin over the others."""
        names = ", ".join(f"P({answer})" for answer in self.answers)
        return f"max - min of {names} and their min - the largest other"


def k_way(
    labels: tuple[str, ...], answers: tuple[str, ...], width: float = WIDTH, tolerance: float | None = None
) -> GaussianTarget:
    """All k named answers at 1/k."""
    if len(answers) < 2:
        raise InputError(f"k-way ambiguity needs at least two answers, not {answers}; name more")
    return gaussian_target(
        Tie(label_indices(labels, answers), answers), (0.0, 1.0 / len(answers)), width, tolerance
    )


def build(request: TargetRequest) -> GaussianTarget:
    """All answers of the query, equally probable."""
    return k_way(request.labels, request.answers, width=request.width)


def goal(request: TargetRequest) -> Goal:
    """The words of the report."""
    return Goal("is torn between", request.answers)


TARGET = TargetKind("k_way", (2, 28), build, goal)
