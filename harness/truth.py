"""The true answer of a question about a scene."""

from __future__ import annotations

from harness.findings import NO_ANSWER
from scenes.programs import InvalidProgram, Program, execute
from scenes.scene import Scene


def true_answer(program: Program, scene: Scene) -> str:
    """The answer by the question's program; "no answer" where CLEVR has none."""
    try:
        return execute(program, scene)
    except InvalidProgram:
        return NO_ANSWER
