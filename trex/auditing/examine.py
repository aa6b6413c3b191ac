"""Asks many questions about one picture, and traces its confident mistakes to what the model misread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.auditing.records import Answer, Examined, Mistake
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.question import Question
from trex.families.trace import trace
from trex.foundation.errors import InputError
from trex.foundation.json_fields import short
from trex.inference.rng import AUDIT_STREAM, stream
from trex.scenes.conditions import Asked
from trex.scenes.graph import Facts
from trex.scenes.misreading import Answered, Misreading
from trex.scenes.questions.answers import answer_of
from trex.scenes.questions.english import phrase, wordings
from trex.scenes.questions.families import FAMILIES, SceneQuestion, random_questions
from trex.scenes.questions.families import Family as QuestionFamily
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.asking import Said, ask_all

QUESTIONS, NUISANCES, TRACING, PROBING, WORDING = range(5)  # streams of random numbers


def is_of(family: QuestionFamily, wanted: Sequence[str]) -> bool:
    """Whether a question family, or its kind, is among those wanted."""
    return family.kind in wanted or family.name in wanted


@dataclass(frozen=True)
class Asker:
    """A model with the questions that it is asked: `n` a scene, drawn by `seed`, of these `families` (all if empty)."""

    model: ClevrModel
    vocabulary: Vocabulary
    n: int
    seed: int
    sure: float
    families: tuple[str, ...] = ()

    def questions(self, scene: Scene, number: int) -> tuple[SceneQuestion, ...]:
        """The questions about member `number` of the bank, a function of the seed, the scene and the number alone."""
        rng = stream(self.seed, AUDIT_STREAM, QUESTIONS, number)
        weights = [float(is_of(family, self.families)) for family in FAMILIES] if self.families else None
        return random_questions(rng, scene, self.n, weights, self.vocabulary)

    def asked(self, scene: Scene, number: int) -> list[Asked]:
        """The questions about a member of the bank, as rules see them."""
        return [Asked(question.program, question.answer) for question in self.questions(scene, number)]

    def ask(self, image: NDArray[np.float32], questions: Sequence[SceneQuestion]) -> list[Said]:
        """What the model says to each question about a picture (H, W, 3)."""
        return self.ask_in_words(
            image, [Question(self.words(question), question.program) for question in questions]
        )

    def ask_in_words(self, image: NDArray[np.float32], questions: Sequence[Question]) -> list[Said]:
        """As `ask`, in words of your own."""
        output = ask_all(self.model, image, questions)
        for answer in {item.answer for item in output} - set(ANSWERS):
            if (clevrs := answer_of(answer)) in ANSWERS:
                raise InputError(
                    f"model {self.model.name!r} names an answer {short(answer)}, which an audit would count as wrong; "
                    f"name it {clevrs!r}, as CLEVR does"
                )
        return output

    def words(self, question: SceneQuestion) -> str:
        """The question in English."""
        return phrase(question.program, self.vocabulary)

    def wordings(self, question: SceneQuestion, number: int, at: int, n: int) -> tuple[str, ...]:
        """Up to n wordings, that of `words` first, of question `at` about member `number`; more come at the end."""
        rng = stream(self.seed, AUDIT_STREAM, WORDING, number, at)
        return wordings(rng, question.program, n, self.vocabulary)

    def examine(self, facts: Facts, image: NDArray[np.float32], number: int) -> Examined:
        """The answers about a picture, its confident mistakes, and the misreadings that explain them.

        Where there is a confident mistake, it is traced by more questions (`trace`).
        """
        questions = self.questions(facts.scene, number)
        output = self.ask(image, questions)
        wrong = [
            at
            for at, (question, item) in enumerate(zip(questions, output, strict=True))
            if item.answer != question.answer and item.probability >= self.sure
        ]
        misread, by = self._traced(facts, number, image, questions, output) if wrong else ((), {})
        answers = (
            Answer(question.family.index, question.answer, item.answer, round(item.probability, 6))
            for question, item in zip(questions, output, strict=True)
        )
        mistakes = tuple(Mistake(at, by.get(at)) for at in wrong)
        return Examined(number, tuple(answers), mistakes, misread, facts.shares, facts.hiders)

    def _traced(
        self,
        facts: Facts,
        number: int,
        image: NDArray[np.float32],
        questions: Sequence[SceneQuestion],
        output: Sequence[Said],
    ) -> tuple[tuple[Misreading, ...], dict[int, int]]:
        """The misreadings, and for each explained question the number of the one that explains it."""
        known = [
            Answered(question.program, item.answer, item.probability)
            for question, item in zip(questions, output, strict=True)
        ]
        rng = stream(self.seed, AUDIT_STREAM, TRACING, number)
        found = trace(rng, self.model, facts, image, self.vocabulary, known)
        return found.misreadings, {at: by for at, by in enumerate(found.by) if by is not None}
