"""Many questions about one picture: what does not depend on the question is computed once where the model allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import ProgramStep, Question
from trex.inference.scoring import check_log_probs
from trex.scenes.questions.programs import Program

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import ClevrModel


class Said(NamedTuple):
    """A model's most probable answer, and its probability."""

    answer: str
    probability: float


def question_of(text: str, program: Program) -> Question:
    """A question as models take it."""
    return Question(text, tuple(ProgramStep(*step) for step in program))


def ask_all(model: ClevrModel, image: NDArray[np.float32], questions: Sequence[Question]) -> list[Said]:
    """What a model says to each question about a picture (H, W, 3) in [0, 1].

    ModelError if it gives no log probabilities; InputError if it cannot read a question.
    """
    from trex.clevr_models.interface.bound import AsksMany  # imports torch, which no check of a query needs

    if not questions:
        return []
    if isinstance(model, AsksMany):
        rows = model.ask(image, questions)
        check_log_probs(rows, (len(questions), len(ANSWERS)))
        return [_said(row, ANSWERS) for row in rows]
    said = []
    for question in questions:
        bound = model.bind(question)
        rows = np.asarray(bound.log_probs(image[None]), dtype=np.float64)
        check_log_probs(rows, (1, len(bound.labels)))
        said.append(_said(rows[0], bound.labels))
    return said


def _said(row: NDArray[np.float64], labels: tuple[str, ...]) -> Said:
    best = int(row.argmax())
    return Said(labels[best], float(np.exp(row[best])))
