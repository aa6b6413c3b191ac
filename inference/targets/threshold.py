"""A minimum confidence in one answer: f_i >= 1 - delta, flat above, relaxed by a half-Gaussian below.

u ~ Normal(min(f_i, 1 - delta), width), u* = 1 - delta: all latents of the level set have the same weight, whatever
the width, and those a distance d below its edge exp(-d^2 / (2 width^2)) of it. As width -> 0 this becomes the prior
restricted to the level set, whereas the target u* = 1 of `high_confidence` becomes mode seeking.
"""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.foundation.words import percent
from trex.inference.targets.arrays import Array, at_most
from trex.inference.targets.gaussian import WIDTH, GaussianTarget, gaussian_target, label_index
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats


@dataclass(frozen=True)
class CappedProbability:
    """min(f_i, cap)."""

    index: int
    answer: str
    cap: float

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        return at_most(probs[..., self.index : self.index + 1], self.cap)

    def excess(self, probs: Floats) -> float:
        """f_i - cap."""
        return float(probs[self.index]) - self.cap

    def confidence(self, probs: Floats) -> float:
        """f_i, not capped."""
        return float(probs[self.index])

    def describe(self) -> str:
        """P(answer) up to the cap."""
        return f"P({self.answer}) of at least {self.cap:g}, as min(P({self.answer}), {self.cap:g})"


def threshold(
    labels: tuple[str, ...], answer: str, delta: float = 0.1, width: float = WIDTH
) -> GaussianTarget:
    """P(answer) >= 1 - delta; a hit meets exactly that."""
    if not 0.0 < delta < 1.0:
        raise InputError(f"delta {delta} must lie between 0 and 1; .1 asks for a probability of at least .9")
    cap = 1.0 - delta
    return gaussian_target(
        CappedProbability(label_index(labels, answer), answer, cap), (cap,), width, tolerance=0.0
    )


def _build(request: TargetRequest) -> GaussianTarget:
    return threshold(request.labels, request.answers[0], delta=1.0 - request.threshold, width=request.width)


def _goal(request: TargetRequest) -> Goal:
    return Goal(f"is at least {percent(request.threshold)} sure of", request.answers)


TARGET = TargetKind("threshold", (1, 1), _build, _goal, is_sure=True, takes_threshold=True)
