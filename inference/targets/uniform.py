"""Torn between all answers: u ~ Normal(max f - min f, width), u* = 0 (Bayes-TrEx)."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.inference.targets.arrays import Array, largest, smallest, stack
from trex.inference.targets.gaussian import WIDTH, GaussianTarget, gaussian_target
from trex.inference.targets.k_way import k_way
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats


@dataclass(frozen=True)
class Spread:
    """max f - min f."""

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        return stack([largest(probs) - smallest(probs)])

    def confidence(self, probs: Floats) -> float:
        """The largest probability: 1/K at best."""
        return float(probs.max())

    def describe(self) -> str:
        """Largest minus smallest."""
        return "largest - smallest probability of all answers"


def uniform(labels: tuple[str, ...], width: float = WIDTH, tolerance: float | None = None) -> GaussianTarget:
    """All of the labels equally probable."""
    if len(labels) < 2:
        raise InputError(f"uniform ambiguity needs at least two labels, not {labels}")
    return gaussian_target(Spread(), (0.0,), width, tolerance)


def _build(request: TargetRequest) -> GaussianTarget:
    """The target over the answers that the question can have; the others count as the rest."""
    return k_way(request.labels, request.possible, width=request.width)


def _goal(request: TargetRequest) -> Goal:
    return Goal("is torn between all answers", ())


TARGET = TargetKind("uniform", (0, 0), _build, _goal)
