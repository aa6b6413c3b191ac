"""A question as the models take it: English text and CLEVR's functional program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class ProgramStep(NamedTuple):
    """One function of a program: the steps it takes its inputs from, and the words it carries ("red", "left")."""

    function: str
    inputs: tuple[int, ...] = ()
    value_inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What is asked, twice: as text (may be empty where a model reads programs) and as program."""

    text: str
    program: tuple[ProgramStep, ...]
