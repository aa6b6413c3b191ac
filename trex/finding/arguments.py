"""Builds a query from the arguments of `trex.find`: a file with changes, or keywords alone; also its model object."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from trex.clevr_models.adapters.live import SessionModel, as_session_model
from trex.finding.find import QuerySource, default_out, query_file
from trex.finding.keywords import KEYS
from trex.foundation.errors import InputError, unknown
from trex.query.toml_text import toml_text, toml_value
from trex.runs.folder import QUERY

MODEL, SHAPES = "model.name", "scene.introduce"
STEM = "query"  # of the run folder's name, for a query without a file
QUERY_LABEL = "the query"  # in errors, for a query without a file


class FindRequest(NamedTuple):
    """The query of a call of `trex.find`, its run folder, and the model object if the model has no name."""

    source: QuerySource
    run_dir: Path
    model: SessionModel | None


def find_request(
    query: str | PathLike[str] | None, keywords: Mapping[str, object], out: str | PathLike[str] | None
) -> FindRequest:
    """The query of these arguments; InputError names an unknown or repeated key, or a value without TOML form."""
    values, model = _values(keywords)
    if query is not None:
        path = Path(fspath(query))
        overrides = [f"{key}={toml_value(key, value)}" for key, value in values.items()]
        return FindRequest(query_file(path, overrides), _run_dir(out, path.stem), model)
    run_dir = _run_dir(out, STEM)
    text = toml_text({key: _absolute(key, value) for key, value in values.items()})
    return FindRequest(QuerySource(text, run_dir / QUERY, label=QUERY_LABEL), run_dir, model)


def model_argument(model: object) -> tuple[str, SessionModel | None]:
    """The model's name in the query, and its object if the argument is one; InputError if it is neither."""
    if isinstance(model, str | PathLike):
        return fspath(model), None
    live_model = as_session_model(model)
    return live_model.name, live_model


def _values(keywords: Mapping[str, object]) -> tuple[dict[str, object], SessionModel | None]:
    """Values by dotted key, including `set` and the model's name, and the model object if any."""
    values: dict[str, object] = {}
    for name, value in keywords.items():
        if value is None:
            continue
        if name != "set" and name not in KEYS:
            raise unknown("keyword", name, [*KEYS, "set"])
        for key, one in _settings(value).items() if name == "set" else [(KEYS[name], value)]:
            if key in values:
                raise InputError(f"{key} is set twice, in set and as a keyword; give it once")
            values[key] = one
    if MODEL not in values:
        return values, None
    values[MODEL], live_model = model_argument(values[MODEL])
    return values, live_model


def _settings(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError('set is not a mapping of keys; write e.g. set={"search.seed": 3}')
    return value


def _run_dir(out: str | PathLike[str] | None, stem: str) -> Path:
    return default_out(stem) if out is None else Path(fspath(out))


def _absolute(key: str, value: object) -> object:
    """Paths of shape cards made absolute: without a query file they are relative to the current folder."""
    if key != SHAPES:
        return value
    names = [value] if isinstance(value, str | PathLike) else value
    if not isinstance(names, list | tuple):
        return value
    return [str(Path(name).absolute()) if _is_card(name) else name for name in names]


def _is_card(name: object) -> bool:
    return isinstance(name, PathLike) or (isinstance(name, str) and name.endswith(".toml"))
