"""Builds the target that a query names, for the labels of a model."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.inference.targets import GaussianTarget
from trex.inference.targets.kind import Goal, TargetRequest
from trex.query.question import ResolvedQuestion
from trex.query.schema import TargetSection


def make_target(
    section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]
) -> GaussianTarget:
    """The level set; InputError if the model lacks one of the answers."""
    _check_labels(question, labels)
    return section.declared.build(_request(section, question, labels))


def goal(section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]) -> Goal:
    """The target behavior of the model as text, and the answers that it concerns."""
    return section.declared.goal(_request(section, question, labels))


def _request(section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]) -> TargetRequest:
    return TargetRequest(
        labels=labels,
        answers=question.answers,
        possible=question.possible,
        width=section.width,
        threshold=section.threshold,
        share=section.share,
        probabilities=section.probabilities,
        options=section.declared.options.model_validate(section.options),
    )


def _check_labels(question: ResolvedQuestion, labels: tuple[str, ...]) -> None:
    missing = [answer for answer in question.answers if answer not in labels]
    if missing:
        raise InputError(f"the model has no answer {missing[0]!r}; its answers are {', '.join(labels)}")
