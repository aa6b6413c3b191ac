"""Builds a query from the arguments of `trex.find`: a file with changes, or keywords alone; also its model object."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from trex.api.find import QuerySource, default_out, query_file
from trex.api.keywords import KEYS
from trex.clevr_models.adapters.live import Live, live
from trex.foundation.errors import InputError, unknown
from trex.query.toml_text import toml_text, toml_value
from trex.runs.folder import QUERY

MODEL, SHAPES = "model.name", "scene.introduce"
STEM = "query"  # of the run folder's name, for a query without a file
SAID = "the query"  # names a query without a file in errors


class Asked(NamedTuple):
    """A query, its run folder, and the model object if the model has no name."""

    source: QuerySource
    place: Path
    model: Live | None


def asked(
    query: str | PathLike[str] | None, keywords: Mapping[str, object], out: str | PathLike[str] | None
) -> Asked:
    """The query of these arguments; InputError names an unknown or repeated key, or a value without TOML form."""
    values, model = _values(keywords)
    if query is not None:
        path = Path(fspath(query))
        overrides = [f"{key}={toml_value(key, value)}" for key, value in values.items()]
        return Asked(query_file(path, overrides), _place(out, path.stem), model)
    place = _place(out, STEM)
    text = toml_text({key: _from_here(key, value) for key, value in values.items()})
    return Asked(QuerySource(text, place / QUERY, said=SAID), place, model)


def given(model: object) -> tuple[str, Live | None]:
    """The model's name in the query, and the object if it is one; InputError if it can be neither."""
    if isinstance(model, str | PathLike):
        return fspath(model), None
    lending = live(model)
    return lending.name, lending


def _values(keywords: Mapping[str, object]) -> tuple[dict[str, object], Live | None]:
    """Values by dotted key, including `set` and the model's name, and the model object if any."""
    values: dict[str, object] = {}
    for name, value in keywords.items():
        if value is None:
            continue
        if name != "set" and name not in KEYS:
            raise unknown("keyword", name, [*KEYS, "set"])
        for key, one in _settings(value).items() if name == "set" else [(KEYS[name], value)]:
            if key in values:
                raise InputError(f"{key} is given twice, in set and as a keyword; give one of them")
            values[key] = one
    if MODEL not in values:
        return values, None
    values[MODEL], lending = given(values[MODEL])
    return values, lending


def _settings(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError('set is no mapping of keys; write e.g. set={"search.seed": 3}')
    return value


def _place(out: str | PathLike[str] | None, stem: str) -> Path:
    return default_out(stem) if out is None else Path(fspath(out))


def _from_here(key: str, value: object) -> object:
    """Paths of shape cards made absolute: without a query file they are relative to the current folder."""
    if key != SHAPES:
        return value
    names = [value] if isinstance(value, str | PathLike) else value
    if not isinstance(names, list | tuple):
        return value
    return [str(Path(name).absolute()) if _is_card(name) else name for name in names]


def _is_card(name: object) -> bool:
    return isinstance(name, PathLike) or (isinstance(name, str) and name.endswith(".toml"))
