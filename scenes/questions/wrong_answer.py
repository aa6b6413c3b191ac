"""Answers that are wrong: a condition on scenes."""

from __future__ import annotations

import json
from dataclasses import dataclass

from trex.scenes.questions.answers import is_same
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.questions.programs import Program
from trex.scenes.questions.truth import NO_ANSWER, true_answer
from trex.scenes.scene import Scene


@dataclass(frozen=True)
class WrongAnswer:
    """The scenes in which a question has a true answer, and it is none of `answers`."""

    program: Program
    answers: tuple[str, ...]

    def is_wrong(self, scene: Scene) -> bool:
        """Whether each of the answers is wrong of this scene; False if CLEVR has no answer to the question there."""
        truth = true_answer(self.program, scene)
        return truth != NO_ANSWER and not any(is_same(truth, answer) for answer in self.answers)

    @property
    def words(self) -> str:
        """As `wrong_words` says it."""
        return wrong_words(self.answers)

    @property
    def key(self) -> str:
        """The condition as text, equal for equal conditions: the program as CLEVR writes it, and the answers."""
        return json.dumps([program_to_json(self.program), sorted(self.answers)])


def wrong_words(answers: tuple[str, ...]) -> str:
    """The condition in a few words: "only where 1 or 2 is wrong"."""
    return f"only where {' or '.join(answers)} is wrong"
