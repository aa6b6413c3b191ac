"""The true answer of a question about a scene, and whether a given answer is wrong."""

from __future__ import annotations

from trex.scenes.questions.answers import is_same
from trex.scenes.questions.programs import InvalidProgram, Program, execute
from trex.scenes.scene import Scene

NO_ANSWER = "no answer"


def true_answer(program: Program, scene: Scene) -> str:
    """The answer of the question's program; "no answer" if CLEVR has none."""
    try:
        return execute(program, scene)
    except InvalidProgram:
        return NO_ANSWER


def is_wrong(answer: str, truth: str | None) -> bool | None:
    """Whether an answer is wrong; None if the truth is unknown (None or ""), or the question has no answer."""
    return None if truth in (None, "", NO_ANSWER) else not is_same(answer, truth)
