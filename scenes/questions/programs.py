"""CLEVR's functional programs: checks them, and executes them on a scene for a question's true answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from trex.foundation.errors import InputError, TrexError, unknown
from trex.scenes.graph import RELATIONS
from trex.scenes.questions.bitsets import Bits, SceneSets, scene_sets
from trex.scenes.questions.functions import ANSWER_TYPES, BOOL, FUNCTIONS, INTEGER, Function
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR, Vocabulary

MAX_STEPS = 128  # CLEVR's longest program has 25 steps
MAX_COUNT = 10  # CLEVR scenes hold at most ten objects
YES_NO = ("yes", "no")


class Step(NamedTuple):
    """One call: the function, the indices of its input steps, its words (a value or a relation)."""

    function: str
    inputs: tuple[int, ...] = ()
    value_inputs: tuple[str, ...] = ()


Program = tuple[Step, ...]
Value = Bits | int | bool | str  # set of objects, index of an object or a count, yes or no, attribute's value


class InvalidProgram(TrexError):
    """The program has no answer on this scene (CLEVR's __INVALID__): "the ..." matches none or several."""


def execute(program: Program, scene: Scene) -> str:
    """The true answer on this scene ("3", "yes", "red"); raises InvalidProgram if there is none."""
    return execute_on(program, scene_sets(scene))


def execute_on(program: Program, sets: SceneSets) -> str:
    """As `execute`, for many programs on one scene."""
    check_program(program)
    return answer_text(trace(program, sets)[-1])


def execute_built(program: Program, sets: SceneSets) -> str:
    """As `execute_on`, of a program that needs no check as `program_builder` has built it."""
    return answer_text(_results(program, [FUNCTIONS[step.function] for step in program], sets)[-1])


def trace(steps: Program, sets: SceneSets) -> list[Value]:
    """The value of each step; the last one need not be an answer."""
    return _results(steps, check_steps(steps), sets)


def _results(steps: Program, functions: Sequence[Function], sets: SceneSets) -> list[Value]:
    results: list[Value] = []
    for step, function in zip(steps, functions, strict=True):
        results.append(_apply(step, function, [results[i] for i in step.inputs], sets))
    return results


def answer_text(value: Value) -> str:
    """The answer as CLEVR writes it: yes and no, digits, the value's name."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def check_program(program: Program) -> tuple[Function, ...]:
    """The function of each step; InputError from `check_steps`, or if the last step yields no answer."""
    functions = check_steps(program)
    last = functions[-1]
    if last.gives not in ANSWER_TYPES:
        message = f"the program ends with {last.name}, which returns a {last.gives}, not an answer"
        raise InputError(f"{message}; end it with count, exist, a query or a comparison")
    return functions


@lru_cache(maxsize=4096)
def check_steps(program: Program) -> tuple[Function, ...]:
    """The function of each step; InputError if it is unknown or its inputs have wrong types."""
    if not 0 < len(program) <= MAX_STEPS:
        raise InputError(f"a program must have 1 to {MAX_STEPS} steps, this one has {len(program)}")
    functions: list[Function] = []
    for index, step in enumerate(program):
        if step.function not in FUNCTIONS:
            raise unknown(f"function of program step {index}", step.function, FUNCTIONS)
        _check_step(index, step, functions)
        functions.append(FUNCTIONS[step.function])
    return tuple(functions)


def _check_step(index: int, step: Step, before: list[Function]) -> None:
    function = FUNCTIONS[step.function]
    where = f"program step {index} ({function.name})"
    if len(step.inputs) != len(function.takes):
        raise InputError(f"{where} has inputs {list(step.inputs)}; it needs {len(function.takes)} of them")
    for at, needed in zip(step.inputs, function.takes, strict=True):
        if not 0 <= at < index:
            raise InputError(f"{where} uses step {at}; a step can use earlier steps only (0 to {index - 1})")
        if before[at].gives != needed:
            source = before[at]
            raise InputError(
                f"{where} needs a {needed}, but step {at} ({source.name}) returns a {source.gives}"
            )
    if len(step.value_inputs) != bool(function.word):
        expected = f"one {function.word}" if function.word else "none"
        raise InputError(f"{where} has value_inputs {list(step.value_inputs)}; it needs {expected}")
    if function.word == "relation" and step.value_inputs[0] not in RELATIONS:
        raise unknown(f"relation of {where}", step.value_inputs[0], RELATIONS)


def check_words(program: Program, vocabulary: Vocabulary = CLEVR) -> Program:
    """The program itself; InputError if it is malformed or filters by a value outside the vocabulary."""
    for index, (step, function) in enumerate(zip(program, check_program(program), strict=True)):
        if function.kind == "filter" and step.value_inputs[0] not in vocabulary.values(function.attribute):
            kind = f"{function.attribute} of program step {index}"
            raise unknown(kind, step.value_inputs[0], vocabulary.values(function.attribute))
    return program


def possible_answers(program: Program, vocabulary: Vocabulary = CLEVR) -> tuple[str, ...]:
    """Every possible answer: "0" to "10", yes and no, or the values of the requested attribute."""
    gives = check_program(program)[-1].gives
    if gives == INTEGER:
        return tuple(str(count) for count in range(MAX_COUNT + 1))
    return YES_NO if gives == BOOL else vocabulary.values(gives)


def _apply(step: Step, function: Function, inputs: list[Value], sets: SceneSets) -> Value:
    match function.kind, inputs:
        case "scene", []:
            return sets.everything
        case "filter", [int(bits)]:
            return bits & sets.having[function.attribute].get(step.value_inputs[0], 0)
        case "relate", [int(index)]:
            return sets.beyond[step.value_inputs[0]][index]
        case "same", [int(index)]:
            return sets.same(function.attribute, index)
        case "query", [int(index)]:
            return sets.values[index][function.attribute]
        case "unique" | "count" | "exist", [int(bits)]:
            return _reduce(function.kind, bits)
        case _:
            return _combine(function.kind, inputs)


def _reduce(kind: str, bits: Bits) -> Value:
    if kind == "count":
        return bits.bit_count()
    if kind == "exist":
        return bits != 0
    if bits.bit_count() != 1:
        count = bits.bit_count()
        raise InvalidProgram(
            f"'unique' needs exactly one object, but {count} match: the question has no answer on this scene"
        )
    return bits.bit_length() - 1


def _combine(kind: str, inputs: list[Value]) -> Value:
    match kind, inputs:
        case "equal", [a, b]:
            return a == b
        case "union", [int(a), int(b)]:
            return a | b
        case "intersect", [int(a), int(b)]:
            return a & b
        case "less_than", [int(a), int(b)]:
            return a < b
        case "greater_than", [int(a), int(b)]:
            return a > b
    raise AssertionError(f"{kind} of {inputs!r} passed the check")
