"""Reads a query from its TOML file and `--set` overrides; errors name the file, the key, the value and a remedy."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trex.foundation import files
from trex.foundation.errors import InputError, did_you_mean, unknown
from trex.foundation.fields import problem_in
from trex.foundation.files import is_missing, is_text
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_toml
from trex.query.schema import Query, RenderSection, TargetSection, targets
from trex.query.shipped import QUERIES, is_question, names, query_path

M = TypeVar("M", bound=BaseModel)
Table = dict[str, object]
LIMIT = 1 << 20  # bytes of a query file; the largest shipped one has 1,500
PROBLEMS = 5  # most problems reported of one query


def read_text(path: Path, others: Sequence[str] = ()) -> str:
    """The text of a query file; a name without a file is that of a shipped query, see `query_path`.

    `others`: names that the caller takes as well.
    """
    file = query_path(path)
    if not is_text(str(file.absolute())):  # a run or a queue stores it as text
        raise InputError(
            f"query {files.shown(path)}: its path is not UTF-8 text; rename the file or its folder"
        )
    try:
        return files.read_text(file, limit=LIMIT)
    except InputError as error:
        if os.path.isdir(file):
            what = (
                "the query is empty or '.', a folder"
                if path == Path()
                else f"query {files.shown(path)} is a folder"
            )
            raise InputError(
                f"{what}; give the path of a TOML file or the name of a shipped query"
            ) from error
        if is_missing(error) and is_question(str(path)):
            raise InputError(
                f"query {str(path)!r} is a question, not a file; write it into a TOML file "
                f"(question = {json.dumps(str(path), ensure_ascii=False)}, and an answer) and give its path, or see "
                "how the question is read: trex check 'QUESTION'"
            ) from error
        if is_missing(error) and path.name == str(path) and not path.suffix:
            fix = "A query is one of these shipped ones, or the path of a TOML file."
            raise unknown("query", str(path), [*others, *names(QUERIES)], fix) from error
        raise InputError(f"query {error}; give the path of a TOML file") from error


def parse_query(text: str, source: str, overrides: Sequence[str] = ()) -> Query:
    """The query in a TOML text; `source` names it in errors."""
    return query_in(parse_table(text, source), source, overrides)


def parse_table(text: str, source: str) -> Table:
    """The table in a TOML text, not validated yet."""
    return dict(parse_toml(text, f"{source}: the file"))


def query_in(table: Table, source: str, overrides: Sequence[str] = ()) -> Query:
    """The query in a table; does not modify the table."""
    query = validated(Query, overridden(table, overrides), source)
    _refuse_unused(query.target, source, overrides)
    return query


def validated(model: type[M], table: Table, source: str) -> M:
    """The table as this model; InputError names the first wrong keys, their values and what is allowed."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        listed: set[tuple[str, ...]] = set()
        problems = list(
            dict.fromkeys(_problem(model, detail, listed) for detail in error.errors(include_url=False))
        )
        more = f"; and {len(problems) - PROBLEMS} more" if len(problems) > PROBLEMS else ""
        raise InputError(f"{source}: {'; '.join(problems[:PROBLEMS])}{more}") from error


def render_section(preset: str, processes: int | None = None, device: str = "auto") -> RenderSection:
    """The section of a look, a number of processes and a device; InputError if one of them is impossible."""
    return validated(RenderSection, {"preset": preset, "processes": processes, "device": device}, "render")


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


def _refuse_unused(target: TargetSection, source: str, overrides: Sequence[str]) -> None:
    """Raise InputError if the file or an override sets a key of the target that its kind does not use.

    If an override changes the kind, the file's keys belong to another one, and are ignored.
    """
    if target.kind not in targets():  # code that is not loaded yet
        return
    kind = target.declared
    overridden_keys = {override.partition("=")[0].strip() for override in overrides}
    is_changed = "target.kind" in overridden_keys
    for key, is_used, user in (
        ("threshold", kind.takes_threshold, "threshold"),
        ("share", kind.takes_share, "graded"),
    ):
        is_given = f"target.{key}" in overridden_keys if is_changed else key in target.model_fields_set
        if is_given and not is_used:
            raise InputError(
                f"{source}: target.{key} has no effect on target {target.kind!r}; remove it, or write "
                f'target.kind = "{user}"'
            )


def _problem(root: type[BaseModel], detail: ErrorDetails, listed: set[tuple[str, ...]]) -> str:
    """One problem in words; `listed` are the tables whose keys are listed already."""
    where = [str(part) for part in detail["loc"]]
    key = ".".join(where)
    if detail["type"] == "extra_forbidden":
        return _unknown_key(root, where, listed)
    if detail["type"] == "model_type":
        return f"{key} = {short(detail['input'])}: this is a table; set its keys ({', '.join(_keys(root, where))})"
    if detail["type"] == "literal_error":
        expected = str(detail.get("ctx", {}).get("expected", ""))
        return f"{key} = {short(detail['input'])} is not known; use {expected}"
    return f"{key} = {short(detail['input'])}: {problem_in(detail).message}"


def _unknown_key(root: type[BaseModel], where: Sequence[str], listed: set[tuple[str, ...]]) -> str:
    table, key = tuple(where[:-1]), where[-1]
    place = f"in [{'.'.join(table)}]" if table else "in the query"
    wrong = f"unknown key {key!r} {place}"
    if homes := _homes(root, key):
        sections = " or ".join(f"[{home}]" if home else "the query, above all sections" for home in homes)
        dotted = " or ".join(f"{home}.{key}" if home else key for home in homes)
        return f"{wrong}; it belongs to {sections}: {dotted}"
    allowed = _keys(root, table)
    hint = did_you_mean(key, allowed, cutoff=0.5)
    if table in listed:
        return wrong + hint
    listed.add(table)
    return f"{wrong}{hint} (keys: {', '.join(allowed)})"


def _homes(root: type[BaseModel], key: str) -> list[str]:
    """The sections that have this key; "" is the top of the file."""
    sections = {
        name: field.annotation
        for name, field in root.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }
    homes = [name for name, section in sections.items() if key in section.model_fields]
    is_top = key in root.model_fields and key not in sections
    return ["", *homes] if is_top else homes


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
