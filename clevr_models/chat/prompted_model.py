"""A model that is asked in words: the template of its prompt, and the model with its question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import AdaptedModel, AskedAnswerer, probe_pictures
from trex.clevr_models.interface.answers import ANSWERS, MOST, UNPARSED
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError

QUESTION, CHOICES = "{question}", "{answers}"
DEFAULT = f"{QUESTION} Answer with exactly one of these words and nothing else: {CHOICES}."


def checked_prompt(template: str) -> str:
    """The template, DEFAULT for ""; InputError unless it holds {question} once."""
    found = template or DEFAULT
    if found.count(QUESTION) != 1:
        raise InputError(
            f"[model] prompt holds {QUESTION} {found.count(QUESTION)} times; write it once, where the question goes"
        )
    return found


def filled(template: str, question: Question) -> str:
    """The text for a question; InputError if the question has no English."""
    if not question.text.strip():
        raise InputError("this model reads English, and this query has only a program; add question")
    return template.replace(CHOICES, ", ".join(ANSWERS)).replace(QUESTION, question.text)


class PromptedAnswerer(Protocol):
    """An `Answerer` that writes the question into a template."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    def prompt(self, question: Question) -> str:
        """The template, filled; InputError if the model cannot read it."""
        ...

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B, K)."""
        ...


@dataclass
class PromptedModel:
    """A prompted answerer as a CLEVR model; asked about two probe pictures when it is first bound to a question."""

    name: str
    answerer: PromptedAnswerer
    identity: str
    is_estimate: bool = False  # answers are estimates from samples
    is_probed: bool = False
    is_hashed: bool = False  # see AdaptedModel

    def bind(self, question: Question) -> AskedAnswerer:
        """The model with its question; InputError if that has no English, or if the model's output does not fit.

        Answers to the probe pictures identify the model only if they are no estimates from samples. Further questions
        to the same model are not tried on them: an accuracy check has thousands.
        """
        if self.is_probed:
            self.answerer.prompt(question)
            names = (self.name, self.identity, question.text, self.answerer.labels)
            return AskedAnswerer(*names, self.answerer, question, (), is_hashed=self.is_hashed)
        bound = AdaptedModel(self.name, self.answerer, self.identity, is_hashed=self.is_hashed).bind(question)
        self.is_probed = True
        note = unparsed_note(bound.labels, bound.probe_probabilities)
        probes = () if self.is_estimate else bound.probe_probabilities
        return replace(bound, probe_probabilities=probes, notes=(note,) if note else ())


def unparsed_note(labels: Sequence[str], probabilities: Sequence[float]) -> str:
    """What to know of answers to the probe pictures, row by row, if most of them are none; else ""."""
    if UNPARSED not in labels:
        return ""
    rows = np.reshape(probabilities, (len(probe_pictures()), len(labels)))
    share = float(rows[:, labels.index(UNPARSED)].mean())
    if share <= MOST:
        return ""
    return (
        f"the model does not answer about the two trial pictures: {100 * share:.0f}% of the probability is {UNPARSED}. "
        "Let it reply with one word: change [model] prompt"
    )
