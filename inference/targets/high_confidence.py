"""Sure of one answer: u ~ Normal(f_i, width), u* = 1 (Bayes-TrEx, its high-confidence target)."""

from __future__ import annotations

from dataclasses import dataclass

from trex.inference.targets.arrays import Array
from trex.inference.targets.gaussian import WIDTH, GaussianTarget, gaussian_target, label_index
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats


@dataclass(frozen=True)
class Probability:
    """f_i."""

    index: int
    answer: str

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        return probs[..., self.index : self.index + 1]

    def confidence(self, probs: Floats) -> float:
        """f_i."""
        return float(probs[self.index])

    def describe(self) -> str:
        """P(answer)."""
        return f"P({self.answer})"


def high_confidence(
    labels: tuple[str, ...],
    answer: str,
    level: float = 1.0,
    width: float = WIDTH,
    tolerance: float | None = None,
) -> GaussianTarget:
    """The answer's probability observed at `level`.

    With level 1 the typical confidence is 1 - width * sqrt(2/pi) (.96 for .05) whatever the classifier: it depends
    more on the width than on the model. For a minimum confidence use `threshold`.
    """
    return gaussian_target(Probability(label_index(labels, answer), answer), (level,), width, tolerance)


def _build(request: TargetRequest) -> GaussianTarget:
    return high_confidence(request.labels, request.answers[0], width=request.width)


def _goal(request: TargetRequest) -> Goal:
    return Goal("is sure of", request.answers)


TARGET = TargetKind("high_confidence", (1, 1), _build, _goal, is_sure=True)
