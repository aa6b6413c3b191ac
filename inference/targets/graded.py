"""A grade between two answers: P(answer) = level, P(other) = 1 - level, else 0 (the paper's appendix, table 9)."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.foundation.words import percent
from trex.inference.targets.gaussian import WIDTH, GaussianTarget, label_indices
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.targets.probability_vector import probability_vector


def graded(
    labels: tuple[str, ...],
    answer: str,
    other: str,
    level: float,
    width: float = WIDTH,
    tolerance: float | None = None,
) -> GaussianTarget:
    """The target for one level; the paper uses eleven levels from 0 to 1 for one pair."""
    label_indices(labels, (answer, other))
    if not 0.0 <= level <= 1.0:
        raise InputError(f"level {level} must lie from 0 to 1: it is the probability of {answer!r}")
    return probability_vector(labels, {answer: level, other: 1.0 - level}, width, tolerance)


def _build(request: TargetRequest) -> GaussianTarget:
    answer, other = request.answers
    return graded(request.labels, answer, other, request.share, width=request.width)


def _goal(request: TargetRequest) -> Goal:
    answer, other = request.answers
    return Goal("gives", (f"{answer}: {percent(request.share)}", f"{other}: {percent(1 - request.share)}"))


TARGET = TargetKind("graded", (2, 2), _build, _goal, takes_share=True)
