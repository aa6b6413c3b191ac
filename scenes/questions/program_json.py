"""Programs in CLEVR's JSON, in both of its spellings, from untrusted files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex.foundation.errors import InputError
from trex.foundation.json_fields import Json, listed, mapping, short, text, whole
from trex.scenes.questions.functions import FUNCTIONS
from trex.scenes.questions.programs import MAX_STEPS, Program, Step, check_words
from trex.scenes.vocabulary import CLEVR, Vocabulary

# CLEVR v1.0 writes "function" and "value_inputs"; the public generator "type", in templates "side_inputs".
_FUNCTION_KEYS = ("function", "type")
_WORD_KEYS = ("value_inputs", "side_inputs")


def program_from_json(data: object, vocabulary: Vocabulary = CLEVR) -> Program:
    """The checked program of a CLEVR question's `program` list; InputError names a wrong step."""
    steps = listed(data, "the program")
    if len(steps) > MAX_STEPS:
        raise InputError(f"a program must have 1 to {MAX_STEPS} steps, this one has {len(steps)}")
    return check_words(tuple(_step(index, item) for index, item in enumerate(steps)), vocabulary)


def lacks_words(data: object) -> bool:
    """Whether a step of a question's `program` has no word where it needs one.

    The public generator writes them so: it renames the words of a template's steps once for each question, and finds
    none the second time (clevr-dataset-gen, generate_questions.py).
    """
    steps = [step for step in data if isinstance(step, dict)] if isinstance(data, list) else []
    functions = [(FUNCTIONS.get(str(_first(step, _FUNCTION_KEYS, ""))), step) for step in steps]
    return any(
        function is not None and function.word != "" and _first(step, _WORD_KEYS, []) == []
        for function, step in functions
    )


def program_to_json(program: Program) -> list[Json]:
    """The program as CLEVR v1.0 writes it."""
    return [
        {"function": step.function, "inputs": list(step.inputs), "value_inputs": list(step.value_inputs)}
        for step in program
    ]


def _step(index: int, data: object) -> Step:
    where = f"program step {index}"
    record = mapping(data, where)
    name = _first(record, _FUNCTION_KEYS, None)
    if not isinstance(name, str):
        raise InputError(f"{where} has no 'function' (or 'type'); it is {short(data)}")
    inputs = listed(record.get("inputs", []), f"{where}, inputs")
    words = listed(_first(record, _WORD_KEYS, []), f"{where}, value_inputs")
    return Step(
        name,
        tuple(whole(at, f"{where}, inputs") for at in inputs),
        tuple(text(word, f"{where}, value_inputs") for word in words),
    )


def _first(record: Mapping[str, object], keys: Sequence[str], default: object) -> object:
    return next((record[key] for key in keys if key in record), default)
