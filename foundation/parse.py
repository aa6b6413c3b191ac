"""JSON and TOML from outside: parsed with bounds on depth and numbers, or an error that says what is wrong."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping

from trex.foundation.errors import InputError, TrexError

DEPTH = 100  # levels of nesting; nothing that the project reads has more than ten
DIGITS = 300  # of a whole number; a float holds 308, and nothing that the project reads has more than 20
# A dotted key of n parts costs tomllib n² steps.
DOTTED = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){101}""")


def parse_json(text: str | bytes, where: str, *, error: type[TrexError] = InputError) -> object:
    """The value of a JSON text whose numbers are all finite; `error` names `where` and what is wrong."""
    try:
        value: object = json.loads(
            text, parse_constant=_refuse, parse_float=finite_number, parse_int=whole_number
        )
        check_depth(value)
        return value
    except (RecursionError, ValueError) as problem:
        raise error(_refusal(where, "JSON", problem)) from problem


def parse_toml(text: str, where: str, *, error: type[TrexError] = InputError) -> Mapping[str, object]:
    """The table of a TOML text whose numbers are all finite; `error` names `where` and what is wrong."""
    try:
        if DOTTED.search(text):
            raise RecursionError
        table = tomllib.loads(text, parse_float=finite_number)
        check_depth(table)
        return table
    except (RecursionError, ValueError) as problem:
        raise error(_refusal(where, "TOML", problem)) from problem


def check_depth(value: object) -> None:
    """RecursionError if a parsed value is nested deeper than `DEPTH` levels."""
    level = [value]
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise RecursionError


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    return [inner for inner in value if isinstance(inner, dict | list)] if isinstance(value, list) else []


def finite_number(text: str) -> float:
    """A number as JSON and TOML write it; ValueError if it is not finite."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def whole_number(text: str) -> int:
    """A whole number as JSON writes it; ValueError if it has more than `DIGITS` digits."""
    if len(text) > DIGITS:
        raise ValueError(f"the number {text[:20]}... has {len(text)} digits; at most {DIGITS} are read")
    return int(text)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a finite number")


def _refusal(where: str, form: str, problem: RecursionError | ValueError) -> str:
    if isinstance(problem, RecursionError):
        return f"{where} is not usable {form}: it is nested too deep (at most {DEPTH} levels)"
    text = str(problem)
    reason = "a number has too many digits" if "integer string conversion" in text else text
    return f"{where} is not {form}: {reason}"
