"""A question as models receive it: English text and CLEVR's functional program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trex.scenes.questions.programs import Program


class ProgramStep(NamedTuple):
    """One function of a program: the indices of its input steps, and its words ("red", "left")."""

    function: str
    inputs: tuple[int, ...] = ()
    value_inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """The question, twice: as text (may be empty for a model that reads programs) and as program."""

    text: str
    program: tuple[ProgramStep, ...]


def question_of(text: str, program: Program) -> Question:
    return Question(text, tuple(ProgramStep(*step) for step in program))
