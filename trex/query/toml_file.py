"""Reads a query from its TOML file and `--set` overrides; errors name the file, the key, the value and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trex.foundation import files
from trex.foundation.errors import InputError
from trex.foundation.fields import problem_in
from trex.foundation.files import is_missing, is_text
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_toml
from trex.query.schema import Query, RenderSection
from trex.query.shipped import QUERIES, names, query_path

M = TypeVar("M", bound=BaseModel)
Table = dict[str, object]
LIMIT = 1 << 20  # bytes of a query file; the largest shipped one has 1,500
PROBLEMS = 5  # most problems reported of one query


def read_query(path: Path, overrides: Sequence[str] = ()) -> Query:
    """The query in a TOML file, with `key=value` overrides (dotted keys, TOML values)."""
    return parse_query(read_text(path), str(path), overrides)


def read_text(path: Path) -> str:
    """The text of a query file; a name without a file is that of a shipped query, see `query_path`."""
    file = query_path(path)
    if not is_text(str(file.absolute())):  # a run or a queue stores it as text
        raise InputError(
            f"query {files.shown(path)}: its path is not UTF-8 text; rename the file or its folder"
        )
    try:
        return files.read_text(file, limit=LIMIT)
    except InputError as error:
        if is_missing(error) and path.name == str(path) and not path.suffix:
            shipped = ", ".join(names(QUERIES))
            raise InputError(
                f"query {str(path)!r} is neither a file nor a shipped query ({shipped}); give the path of a TOML file "
                "or one of these names"
            ) from error
        raise InputError(f"query {error}; give the path of a TOML file") from error


def parse_query(text: str, source: str, overrides: Sequence[str] = ()) -> Query:
    """The query in a TOML text; `source` names it in errors."""
    return query_in(parse_table(text, source), source, overrides)


def parse_table(text: str, source: str) -> Table:
    """The table in a TOML text, not validated yet."""
    return dict(parse_toml(text, f"{source}: the file"))


def query_in(table: Table, source: str, overrides: Sequence[str] = ()) -> Query:
    """The query in a table; does not modify the table."""
    return validated(Query, overridden(table, overrides), source)


def validated(model: type[M], table: Table, source: str) -> M:
    """The table as this model; InputError names the first wrong keys, their values and what is allowed."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problems = list(dict.fromkeys(_problem(model, detail) for detail in error.errors(include_url=False)))
        more = f"; and {len(problems) - PROBLEMS} more" if len(problems) > PROBLEMS else ""
        raise InputError(f"{source}: {'; '.join(problems[:PROBLEMS])}{more}") from error


def render_section(preset: str, processes: int | None = None) -> RenderSection:
    """The section of a look and a number of processes; InputError if that number is impossible."""
    return validated(RenderSection, {"preset": preset, "processes": processes}, "render")


def overridden(table: Table, overrides: Sequence[str]) -> Table:
    """The table with `key=value` overrides (dotted keys, TOML values); does not modify the table."""
    changed = _copied(table) if overrides else table
    for override in overrides:
        _override(changed, override)
    return changed


def _copied(table: Table) -> Table:
    """A deep copy of the table's nested tables, so that setting keys leaves the original unchanged."""
    return {key: _copied(value) if isinstance(value, dict) else value for key, value in table.items()}


def _override(table: Table, text: str) -> None:
    key, equals, value = text.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or not all(names):
        raise InputError(f"--set {text!r} is not key=value; write e.g. --set search.seed=3")
    for name in names[:-1]:
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError(f"--set {text!r}: {name!r} is not a section; write e.g. --set search.seed=3")
        table = inner
    table[names[-1]] = _toml_value(value.strip())


def _toml_value(text: str) -> object:
    """The value of this TOML text or, if it is not TOML, the text itself: shells then need no second pair of quotes."""
    try:
        return parse_toml(f"value = {text}", text)["value"]
    except InputError:
        return text


def _problem(root: type[BaseModel], detail: ErrorDetails) -> str:
    where = [str(part) for part in detail["loc"]]
    key = ".".join(where)
    if detail["type"] == "extra_forbidden":
        allowed = _keys(root, where[:-1])
        near = difflib.get_close_matches(where[-1], allowed, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        place = f"in [{'.'.join(where[:-1])}]" if where[:-1] else "in the query"
        return f"unknown key {where[-1]!r} {place}{hint} (keys: {', '.join(allowed)})"
    if detail["type"] == "literal_error":
        expected = str(detail.get("ctx", {}).get("expected", ""))
        return f"{key} = {short(detail['input'])} is not known; use {expected}"
    return f"{key} = {short(detail['input'])}: {problem_in(detail).message}"


def _keys(root: type[BaseModel], where: Sequence[str]) -> tuple[str, ...]:
    """The keys that the table at this place accepts."""
    model = root
    for name in where:
        if name in model.model_fields:
            model = _section(model.model_fields[name].annotation)
    return tuple(model.model_fields)


def _section(annotation: object) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((_section(inner) for inner in get_args(annotation) if inner is not Ellipsis), Query)
