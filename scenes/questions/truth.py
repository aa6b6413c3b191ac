"""The true answer of a question about a scene."""

from __future__ import annotations

from trex.scenes.questions.programs import InvalidProgram, Program, execute
from trex.scenes.scene import Scene


def true_answer(program: Program, scene: Scene) -> str:
    """The answer of the question's program; "no answer" if CLEVR has none."""
    try:
        return execute(program, scene)
    except InvalidProgram:
        return NO_ANSWER


NO_ANSWER = "no answer"
