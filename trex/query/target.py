"""Builds the target that a query names, for the labels of a model."""

from __future__ import annotations

import hashlib

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.extensions import is_given
from trex.inference.targets import GaussianTarget
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.query.question import ResolvedQuestion
from trex.query.schema import TargetSection

BELOW_HALF = 0.499
PROBES = 32  # points at which a target is compared with another of its name


def make_target(
    section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]
) -> GaussianTarget:
    """The level set; InputError if the model lacks one of the answers."""
    _check_labels(question, labels)
    target = section.declared.build(_request(section, question, labels))
    _check_statistic(section.kind, target, len(labels))
    return target


def given_target(section: TargetSection, target: GaussianTarget, n_labels: int) -> dict[str, str]:
    """What tells a target that was passed as an object from others of its name; nothing for a kind of ours.

    A hash of its level set and of its score at PROBES points of the simplex, to six digits.
    """
    if not is_given(TargetKind, section.kind):
        return {}
    probs = np.random.default_rng(0).dirichlet(np.full(n_labels, 0.5), PROBES)
    numbers = [
        *target.observed,
        *target.width,
        *target.tolerance,
        *np.ravel(target.statistic(probs)).tolist(),
    ]
    text = " ".join(f"{number:.6g}" for number in numbers)
    return {f"target {section.kind}": hashlib.sha256(text.encode()).hexdigest()[:16]}


def goal(section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]) -> Goal:
    """The target behavior of the model as text, and the answers that it concerns."""
    return section.declared.goal(_request(section, question, labels))


def leaves_answer_open(section: TargetSection, question: ResolvedQuestion, labels: tuple[str, ...]) -> bool:
    """Whether the most probable answer to a hit may be another than the target's.

    It may if the target wants no sure answer, or if less than one half suffices, as with `threshold = 0.3`. What the
    model answers then says little of the level set.
    """
    if not section.declared.is_sure:
        return True
    if len(labels) < 2:
        return False
    target = make_target(section, question, labels)
    probs = np.full(len(labels), (1.0 - BELOW_HALF) / (len(labels) - 1))
    probs[labels.index(question.answers[0])] = BELOW_HALF
    return target.is_hit(np.log(probs))


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


def _check_statistic(kind: str, target: GaussianTarget, n_labels: int) -> None:
    """InputError if a kind's statistic gives another number of values than are observed."""
    wanted = (2, len(target.observed))
    shape = np.shape(target.statistic(np.full((2, n_labels), 1.0 / n_labels)))
    if shape != wanted:
        raise InputError(
            f"target kind {kind!r}: its statistic turns probabilities of shape {(2, n_labels)} into shape {shape}; it "
            f"must be {wanted}, the last axis as long as `observed`"
        )


def _check_labels(question: ResolvedQuestion, labels: tuple[str, ...]) -> None:
    missing = [answer for answer in question.answers if answer not in labels]
    if missing:
        raise InputError(f"the model has no answer {missing[0]!r}; its answers are {', '.join(labels)}")
