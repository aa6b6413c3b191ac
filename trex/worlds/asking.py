"""Many questions about one picture: what does not depend on the question is computed once where the model allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import AsksMany, BoundModel, ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.datasets.official_scenes import AskedQuestion
from trex.foundation.errors import InputError
from trex.foundation.json_fields import short
from trex.inference.scoring import check_log_probs
from trex.scenes.questions.answers import is_same

_Row = tuple[NDArray[np.float64], tuple[str, ...]]


class Said(NamedTuple):
    """A model's most probable answer, and its probability."""

    answer: str
    probability: float


def ask_all(model: ClevrModel, image: NDArray[np.float32], questions: Sequence[Question]) -> list[Said]:
    """What a model says to each question about a picture (H, W, 3) in [0, 1].

    ModelError if it gives no log probabilities; InputError if it cannot read a question.
    """
    return [_answer(*answered) for answered in _rows(model, image, questions)]


def answers_to(
    model: ClevrModel, pixels: NDArray[np.uint8], questions: Sequence[AskedQuestion]
) -> tuple[str, ...]:
    """A model's answers to questions about one picture (H, W, 3), 0-255; errors as from `ask_all`."""
    image = pixels.astype(np.float32) / np.float32(255.0)
    return tuple(
        item.answer for item in ask_all(model, image, [Question(q.text, q.program) for q in questions])
    )


def ask_mean(
    model: ClevrModel, pictures: Sequence[NDArray[np.float32]], question: Question, truth: str
) -> Said:
    """What a model says by its mean probabilities on one or more pictures of a scene; errors as from `ask_all`.

    Of one picture the same as `ask_all`, bit for bit. InputError if the model cannot give the true answer.
    """
    answered = [_rows(model, picture, [question])[0] for picture in pictures]
    check_named(model.name, answered[0][1], question.text, truth)
    rows = np.stack([row for row, _ in answered])  # (pictures, K)
    return _answer(np.logaddexp.reduce(rows, axis=0) - np.log(len(rows)), answered[0][1])


def check_named(name: str, labels: Sequence[str], question: str, truth: str) -> None:
    """Raise InputError if no answer of a model is the true one, however it is spelled: it could only be wrong.

    A truth that is no answer of CLEVR's, such as an introduced shape, need not be among them.
    """
    if truth in ANSWERS and not any(is_same(label, truth) for label in labels):
        raise InputError(
            f"model {name!r} cannot give the true answer {truth!r} to {question!r}; its answers are "
            f"{short(list(labels))}; name every answer that the question can have in its labels"
        )


def _rows(model: ClevrModel, image: NDArray[np.float32], questions: Sequence[Question]) -> list[_Row]:
    """The log probabilities (K,) of each question's answers, with the answers' names."""
    if not questions:
        return []
    if isinstance(model, AsksMany):
        rows = model.ask(image, questions)
        check_log_probs(rows, (len(questions), len(ANSWERS)))
        return [(row, ANSWERS) for row in rows]
    return [_bound_row(bound_to(model, question), image) for question in questions]


def _bound_row(bound: BoundModel, image: NDArray[np.float32]) -> _Row:
    rows = np.asarray(bound.log_probs(image[None]), dtype=np.float64)
    check_log_probs(rows, (1, len(bound.labels)))
    return rows[0], bound.labels


def _answer(row: NDArray[np.float64], labels: tuple[str, ...]) -> Said:
    best = int(row.argmax())
    return Said(labels[best], float(np.exp(row[best])))
