"""Programs written as prefix lists of tokens ("count", "filter_color[red]", "scene"), and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trex.clevr_models.iep.vocabulary import NULL, START
from trex.clevr_models.interface.program_kinds import SIGNATURES, Program, check_program
from trex.clevr_models.interface.question import ProgramStep
from trex.foundation.errors import InputError

SCENE = "scene"
LONGEST = 256  # tokens; CLEVR's longest program has 25


class Call(NamedTuple):
    """One token with the numbers of the calls it takes its inputs from, the first argument first."""

    token: str
    inputs: tuple[int, ...] = ()


def is_binary(token: str) -> bool:
    """Whether a token takes two inputs: equal_*, less_than, greater_than, union, intersect."""
    return token in SIGNATURES and len(SIGNATURES[token].takes) == 2


def calls_of(tokens: Sequence[str]) -> tuple[Call, ...]:
    """Any list of tokens as calls, inputs before their users, the last one giving the answer.

    As the released execution engines take it, whose generator may write anything: <START> is skipped; <NULL> and the
    end of the list stand for `scene`; any other token takes what its name says; what follows a whole program is
    ignored.
    """
    calls: list[Call] = []
    _read([token for token in tokens[:LONGEST] if token != START], 0, calls)
    return tuple(calls)


def _read(tokens: Sequence[str], at: int, calls: list[Call]) -> int:
    """Append the calls of the expression at `at`; where the next expression begins."""
    token = tokens[at] if at < len(tokens) else NULL
    at += 1
    inputs = []
    for _ in range(0 if token in (NULL, SCENE) else 1 + is_binary(token)):
        at = _read(tokens, at, calls)
        inputs.append(len(calls) - 1)
    calls.append(Call(SCENE if token == NULL else token, tuple(inputs)))
    return at


def to_prefix(program: Program) -> tuple[str, ...]:
    """A program's tokens, each before its inputs; InputError if it is malformed or no model supports a step."""
    check_program(program)
    tokens: list[str] = []
    left = [len(program) - 1]
    while left:
        step = program[left.pop()]
        tokens.append(step_token(step))
        left += reversed(step.inputs)
        if len(tokens) > LONGEST:
            raise InputError(f"the program has more than {LONGEST} steps as a tree")
    return tuple(tokens)


def step_token(step: ProgramStep) -> str:
    """ "filter_color[red]", "unique"."""
    return f"{step.function}[{step.value_inputs[0]}]" if step.value_inputs else step.function
