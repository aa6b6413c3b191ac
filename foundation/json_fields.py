"""Typed access to untrusted JSON: each function returns a value, or raises an InputError with its place and content.

For scenes and settings, which the process inside Blender reads too: its Python has numpy, but no pydantic. Other stored
files are read by `trex.foundation.codec`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from trex.foundation.errors import InputError

Json = dict[str, object]


def short(value: object) -> str:
    """The value's repr, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def mapping(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{where} is {short(value)}; expected an object {{...}}")
    return value


def listed(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise InputError(f"{where} is {short(value)}; expected a list [...]")
    return value


def field(record: Mapping[str, object], key: str, where: str) -> object:
    """The value of a required key."""
    if key not in record:
        raise InputError(f"{where} has no {key!r}; it has {', '.join(map(repr, record)) or 'nothing'}")
    return record[key]


def text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where} is {short(value)}; expected a string")
    return value


def whole(value: object, where: str) -> int:
    if type(value) is not int:
        raise InputError(f"{where} is {short(value)}; expected a whole number")
    return value


def finite(value: object, where: str) -> float:
    """A number, neither NaN nor infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise InputError(f"{where} is {short(value)}; expected a finite number")
    return float(value)


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the range of floats
        return False


def triple(value: object, where: str) -> tuple[float, float, float]:
    numbers = listed(value, where)
    if len(numbers) != 3:
        raise InputError(f"{where} has {len(numbers)} numbers; expected three, x y z")
    x, y, z = (finite(number, f"{where}[{axis}]") for axis, number in zip("xyz", numbers, strict=True))
    return (x, y, z)
