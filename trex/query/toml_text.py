"""Query keys and values as TOML text: the inverse of `trex.query.toml_file`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from numbers import Integral, Real
from os import PathLike, fspath

from trex.foundation.errors import InputError
from trex.foundation.json_fields import short

BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(values: Mapping[str, object]) -> str:
    """A TOML document of dotted keys ("scene.revoke") and their values; InputError if a value has no TOML form."""
    sections: dict[str, list[str]] = {"": []}
    for key, value in values.items():
        section, dot, rest = key.partition(".")
        name = rest if dot else section
        line = f"{'.'.join(map(_key, name.split('.')))} = {toml_value(key, value)}"
        sections.setdefault(section if dot else "", []).append(line)
    parts = ["\n".join(sections.pop(""))]
    parts += ["\n".join([f"[{_key(section)}]", *lines]) for section, lines in sections.items()]
    return "\n\n".join(filter(None, parts)) + "\n"


def toml_value(key: str, value: object) -> str:
    """A text, path, number, boolean, list or mapping in TOML; InputError names the key if it is anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, PathLike):
        value = fspath(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_key(str(name))} = {toml_value(key, inner)}" for name, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(key, inner) for inner in value)}]"
    raise InputError(
        f"{key} = {short(value)} is a {type(value).__name__}; give a text, a number, True or False, a list or a mapping"
    )


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
