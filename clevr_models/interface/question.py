"""A question as models receive it: English text and CLEVR's functional program, whose steps are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import short
from trex.scenes.graph import RELATIONS
from trex.scenes.questions.functions import FUNCTIONS, OBJECT, SET
from trex.scenes.questions.programs import Program, Step
from trex.scenes.vocabulary import CLEVR


@dataclass(frozen=True)
class Question:
    """The question, twice: as text (may be empty for a model that reads programs) and as program."""

    text: str
    program: Program


ATTRIBUTE_VALUES: dict[str, tuple[str, ...]] = {
    "shape": CLEVR.shapes,
    "size": CLEVR.sizes,
    "color": CLEVR.colors,
    "material": CLEVR.materials,
}


class Signature(NamedTuple):
    """A function's input types, its output type, and its allowed words."""

    takes: tuple[str, ...]
    gives: str
    values: tuple[str, ...] = ()


def _values(word: str) -> tuple[str, ...]:
    return RELATIONS if word == "relation" else ATTRIBUTE_VALUES.get(word, ())


# CLEVR's programs never compare two objects, so its models have no equal_object.
SIGNATURES: dict[str, Signature] = {
    name: Signature(function.takes, function.gives, _values(function.word))
    for name, function in FUNCTIONS.items()
    if name != "equal_object"
}


def check_program(program: Program) -> None:
    """Raise InputError unless every step is known and fits its inputs, and the last gives an answer."""
    kinds: list[str] = []
    for index, step in enumerate(program):
        if step.function not in SIGNATURES:
            raise unknown(f"function of step {index}", step.function, SIGNATURES)
        signature = SIGNATURES[step.function]
        _check_inputs(index, step, signature, kinds)
        _check_value(index, step, signature)
        kinds.append(signature.gives)
    if not kinds or kinds[-1] in (SET, OBJECT):
        ending = f"a program that ends with {program[-1].function!r}" if kinds else "an empty program"
        raise InputError(
            f"{ending} returns no answer; end it with count, exist, query_*, equal_*, less_than or greater_than"
        )


def _check_inputs(index: int, step: Step, signature: Signature, kinds: list[str]) -> None:
    for source in step.inputs:
        if not 0 <= source < index:
            raise InputError(
                f"step {index} ({step.function}) uses step {source}; it can use steps 0 to {index - 1}"
            )
    given = tuple(kinds[source] for source in step.inputs)
    if given != signature.takes:
        needed = ", ".join(signature.takes) or "nothing"
        raise InputError(
            f"step {index} ({step.function}) gets {', '.join(given) or 'nothing'}; it needs {needed}"
        )


def _check_value(index: int, step: Step, signature: Signature) -> None:
    if len(step.value_inputs) != (1 if signature.values else 0):
        needed = f"one of {', '.join(signature.values)}" if signature.values else "no value"
        raise InputError(f"step {index} ({step.function}) has value {step.value_inputs!r}; it needs {needed}")
    if signature.values and step.value_inputs[0] not in signature.values:
        raise InputError(
            f"step {index} ({step.function}) asks for {short(step.value_inputs[0])}, and the model has words for "
            f"{', '.join(signature.values)} only; ask without that word, or test a model that takes English"
        )
