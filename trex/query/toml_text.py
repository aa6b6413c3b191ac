"""Query keys and values as TOML text: the inverse of `trex.query.toml_file`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral, Real
from os import PathLike, fspath

import tomli_w

from trex.foundation.errors import InputError
from trex.foundation.json_fields import short

# What tomli_w writes around the single value of an array in an array, where tables too stand inline.
PLAIN = "give a text, a number, True or False, a list or a mapping"
BEFORE, AFTER = "v = [\n    [\n        ", ",\n    ],\n]\n"


def toml_text(values: Mapping[str, object]) -> str:
    """A TOML document of dotted keys ("scene.revoke") and their values; InputError if a value has no TOML form."""
    table: dict[str, object] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        inner = table
        for section in sections:
            inner = inner.setdefault(section, {})  # type: ignore[assignment]
        inner[name] = _plain(key, value)
    return tomli_w.dumps(table)


def toml_value(key: str, value: object) -> str:
    """A text, path, number, boolean, list or mapping in TOML on one line; InputError names the key of others."""
    text = tomli_w.dumps({"v": [[_plain(key, value)]]}).removeprefix(BEFORE).removesuffix(AFTER)
    return re.sub(r"\n *", " ", text)


def _plain(key: str, value: object) -> object:
    """The value as TOML knows it: numbers, paths, tuples become Python's own."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(key, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(key, inner) for inner in value]
    if callable(tolist := getattr(value, "tolist", None)):  # a boolean or an array of NumPy
        return _plain(key, tolist())
    raise InputError(f"{key} = {short(value)} is of type {type(value).__name__}; {PLAIN}")
