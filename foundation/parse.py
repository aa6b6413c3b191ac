"""Parses foreign JSON and TOML with bounds on depth and numbers; any violation raises a descriptive error."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping

from trex.foundation.errors import InputError, TrexError
from trex.foundation.files import is_text

DEPTH = 100  # levels of nesting; the project's files have at most ten
DIGITS = 300  # of an integer; a float holds 308, and the project's files have at most 20
BYTE_ORDER_MARK = "\ufeff"
# Python takes half of a surrogate pair, which no file can hold and no page can show.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
# tomllib takes n² steps for a dotted key of n parts.
DOTTED = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){101}""")


def parse_json(text: str | bytes, where: str, *, error: type[TrexError] = InputError) -> object:
    """The value of a JSON text with finite numbers only; otherwise `error` with `where` and the fault."""
    try:
        text = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
        text = text.removeprefix(BYTE_ORDER_MARK)
        value: object = json.loads(
            text, parse_constant=_refuse, parse_float=finite_number, parse_int=whole_number
        )
        check_parsed(value, text)
        return value
    except (RecursionError, ValueError) as problem:
        raise error(_refusal(where, "JSON", problem)) from problem


def parse_toml(text: str, where: str) -> Mapping[str, object]:
    """The table of a TOML text with finite numbers only; otherwise InputError with `where` and the fault."""
    try:
        if DOTTED.search(text):
            raise RecursionError
        table = tomllib.loads(text.removeprefix(BYTE_ORDER_MARK), parse_float=finite_number)
        check_depth(table)
        if any(isinstance(number, int) and abs(number) >= 10**DIGITS for number in numbers_in(table)):
            raise ValueError(
                f"a number has more than {DIGITS} digits"
            )  # in another base: tomllib bounds decimal ones
        return table
    except (RecursionError, ValueError) as problem:
        raise InputError(_refusal(where, "TOML", problem)) from problem


def check_parsed(value: object, text: str) -> None:
    """Raise RecursionError or ValueError for a value of this JSON that is too deep, or that no file can hold."""
    check_depth(value)
    if SURROGATE.search(text) and not is_text(json.dumps(value, ensure_ascii=False)):
        raise ValueError("a text in it has half of a surrogate pair, which is no character")


def check_depth(value: object) -> None:
    """RecursionError if a parsed value is nested deeper than `DEPTH` levels."""
    level = [value]
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise RecursionError


def numbers_in(value: object) -> Iterator[int | float]:
    if isinstance(value, int | float):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for item in inner:
        yield from numbers_in(item)


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return [inner for inner in value.values() if isinstance(inner, dict | list)]
    return [inner for inner in value if isinstance(inner, dict | list)] if isinstance(value, list) else []


def finite_number(text: str) -> float:
    """A number in JSON or TOML; ValueError if it is not finite."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def whole_number(text: str) -> int:
    """An integer in JSON; ValueError if it has more than `DIGITS` digits."""
    if len(text) > DIGITS:
        raise ValueError(f"the number {text[:20]}... has {len(text)} digits, more than the limit of {DIGITS}")
    return int(text)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a finite number")


def _refusal(where: str, form: str, problem: RecursionError | ValueError) -> str:
    if isinstance(problem, RecursionError):
        return f"{where} is not usable {form}: it is nested more than {DEPTH} levels deep"
    text = str(problem)
    reason = "a number has too many digits" if "integer string conversion" in text else text
    return f"{where} is not {form}: {reason}"
