"""The target that a query names, for the labels of a model."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.inference import targets
from trex.inference.targets import GaussianTarget
from trex.query.question import ResolvedQuestion
from trex.query.schema import TargetSection


def make_target(
    section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]
) -> GaussianTarget:
    """The level set; InputError where the model has no such answer."""
    _check_labels(question, labels)
    answers, width = question.answers, section.width
    match section.kind:
        case "high_confidence":
            return targets.high_confidence(labels, answers[0], width=width)
        case "threshold":
            return targets.threshold(labels, answers[0], delta=1.0 - section.threshold, width=width)
        case "ambiguous":
            return targets.ambiguous_pair(labels, (answers[0], answers[1]), width=width)
        case "k_way":
            return targets.k_way(labels, answers, width=width)
        case "uniform":  # over the answers that the question can have: the others count as the rest
            return targets.k_way(labels, question.possible, width=width)
        case "graded":
            return targets.graded(labels, answers[0], answers[1], section.share, width=width)
        case "probabilities":
            return targets.probability_vector(labels, section.probabilities, width=width)


def _check_labels(question: ResolvedQuestion, labels: tuple[str, ...]) -> None:
    missing = [answer for answer in question.answers if answer not in labels]
    if missing:
        raise InputError(f"the model has no answer {missing[0]!r}; it answers {', '.join(labels)}")
