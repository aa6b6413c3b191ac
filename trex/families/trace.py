"""What a model misreads in a picture, traced by asking it many questions; nothing is rendered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.bound import AsksMany, ClevrModel
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.scenes.explaining import explain
from trex.scenes.graph import Facts
from trex.scenes.misreading import Answered, Misreading, census
from trex.scenes.questions.answers import answer_of
from trex.scenes.questions.english import phrase
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import Program
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.asking import Said, ask_all

RANDOM = 60  # questions about a scene beside the census
FIRST = 8  # questions after which a model that gives all of them one answer is asked no more
SAME_TO_ALL = "the model gives every question the same answer"


@dataclass(frozen=True)
class Traced:
    """What a model misreads in a picture.

    `margins[k]` is the number of sure answers that misreading k explains beyond those that it contradicts. `by` has a
    place for each answer that was known before: the misreading, from 0, that explains it; None if the answer is right,
    or if none does. `questions` were asked. `closed` says why the model cannot be asked other questions than its own,
    "" if it can: then nothing was traced, whatever it misreads.
    """

    misreadings: tuple[Misreading, ...] = ()
    margins: tuple[float, ...] = ()
    by: tuple[int | None, ...] = ()
    questions: int = 0
    closed: str = ""


def trace(
    rng: np.random.Generator,
    model: ClevrModel,
    facts: Facts,
    image: NDArray[np.float32],
    vocabulary: Vocabulary,
    asked: Sequence[Answered] = (),
) -> Traced:
    """What a model misreads in a picture (H, W, 3) in [0, 1] of a scene, from RANDOM questions and the census.

    `asked` are answers about this picture that are known already, such as the one that a search was for. Questions that
    the model cannot read are left out. ModelError if it fails.
    """
    drawn = [each.program for each in random_questions(rng, facts.scene, RANDOM, vocabulary=vocabulary)]
    answers, closed = _answers(model, image, [*drawn, *census(vocabulary)], vocabulary)
    if closed:
        return Traced(by=(None,) * len(asked), questions=len(answers), closed=closed)
    explained = explain(facts, [*asked, *answers], vocabulary)
    by = tuple(number - 1 if number else None for number in explained.by[: len(asked)])
    return Traced(explained.misreadings, explained.margins, by, len(answers))


def _answers(
    model: ClevrModel, image: NDArray[np.float32], programs: Sequence[Program], vocabulary: Vocabulary
) -> tuple[list[Answered], str]:
    """The answers to the questions that the model can read, and why it cannot be asked any, "" if it can."""
    first = len(programs) if isinstance(model, AsksMany) else FIRST
    answers: list[Answered] = []
    problem = SAME_TO_ALL
    for part in (programs[:first], programs[first:]):
        output, failure = _readable(model, image, part, vocabulary)
        answers += output
        problem = failure or problem
        if len({(answer.said, answer.probability) for answer in answers}) < 2:
            return answers, problem
    return answers, ""


def _readable(
    model: ClevrModel, image: NDArray[np.float32], programs: Sequence[Program], vocabulary: Vocabulary
) -> tuple[list[Answered], str]:
    """The answers to those questions that the model can read, and what it says of the last that it cannot."""
    try:
        return _said(model, image, programs, vocabulary), ""
    except InputError as error:
        if len(programs) < 2:
            return [], str(error)
    rows = [_readable(model, image, [program], vocabulary) for program in programs]
    return [answer for answers, _ in rows for answer in answers], next(
        (words for _, words in reversed(rows) if words), ""
    )


def _said(
    model: ClevrModel, image: NDArray[np.float32], programs: Sequence[Program], vocabulary: Vocabulary
) -> list[Answered]:
    output: list[Said] = ask_all(
        model, image, [Question(phrase(program, vocabulary), program) for program in programs]
    )
    return [
        Answered(program, answer_of(item.answer), item.probability)
        for program, item in zip(programs, output, strict=True)
    ]
