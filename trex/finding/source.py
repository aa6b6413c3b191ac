"""Where a query comes from: a file with changes, or keywords alone; and the model object that it is about."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from os import PathLike, fspath
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tomli_w import dumps

from trex.clevr_models.adapters.live import SessionModel, as_session_model
from trex.foundation.errors import InputError
from trex.foundation.files import from_home
from trex.foundation.options import Key
from trex.query.keys import KEYS
from trex.query.schema import Query
from trex.query.shipped import query_path
from trex.query.toml_file import overridden, parse_query, read_text
from trex.runs.place import RUNS
from trex.runs.trust import check_query, trust_query
from trex.worlds.code import load_code
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan

STEM = "query"  # of the run folder's name, for a query without a file
QUERY_LABEL = "the query"  # in errors, for a query without a file
NAMES = ("kind", "name")  # the key of a section that is called as the section is
OBJECTS = {  # keywords besides those of the sections
    "world": Key("generator.name", object, None, "A `trex.World`, or the name of a world.", "mnist-vae"),
    "proposal": Key("search.kernel", object, None, "A function of a latent, or its name.", "moves:step"),
}
OPTIONS = {"target": "target_options", "search": "kernel_options"}


@dataclass(frozen=True)
class QuerySource:
    """A query before parsing: its text, overrides ("search.seed=3"), and its origin.

    Paths of shape cards start at the folder of `path`. `label` names a query without a file in errors; one with a
    file has none.
    """

    text: str
    path: Path
    overrides: tuple[str, ...] = ()
    label: str = ""

    def plan(self) -> Plan:
        """The checked query; InputError if it is invalid, or not trusted. Renders and writes nothing."""
        query = self._parsed()
        if not self.label:
            check_query(self.path, query, self.overrides)
        load_code(query)
        return make_plan(query, self.path.parent, "" if self.label else str(self.path))

    def trust(self) -> None:
        """Record that this user trusts the code and the addresses that the file names."""
        if not self.label:
            trust_query(self.path, [self._parsed()], self.overrides)

    def _parsed(self) -> Query:
        return parse_query(self.text, self.label or str(self.path), self.overrides)


def query_source(query: Path | None, changes: Sequence[str], run_dir: Path) -> QuerySource:
    """The query in a file with these changes ("search.seed=3"), or the one that the changes alone are.

    The latter is stored in the run folder; its shape cards start at the current folder.
    """
    if query is not None:
        return query_file(query, changes)
    if not changes:
        raise InputError("no query is given; give a TOML file, or the name of a shipped query such as demo")
    table = overridden({}, changes)
    scene = table.get("scene")
    if isinstance(scene, dict) and "introduce" in scene:
        scene["introduce"] = _absolute(scene["introduce"])
    return QuerySource(dumps(table), run_dir / f"{STEM}.toml", label=QUERY_LABEL)


def query_file(path: Path, overrides: Sequence[str]) -> QuerySource:
    """The query in a TOML file, or the shipped query of this name."""
    path = query_path(path)
    return QuerySource(read_text(path), path, tuple(overrides))


def default_out(query: Path | None) -> Path:
    """A new folder below runs/, named after the query and the time, with a number if another query took that name."""
    run_dir = RUNS / f"{query.stem if query else STEM}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (run_dir.with_name(f"{run_dir.name}-{number}") for number in count(2))
    return next(free for free in chain([run_dir], names) if not free.exists())


def model_argument(model: object) -> tuple[str, SessionModel | None]:
    """The model's name in the query, and its object if the argument is one; InputError if it is neither."""
    if isinstance(model, str | PathLike):
        return fspath(model), None
    live_model = as_session_model(model)
    return live_model.name, live_model


def query_keywords() -> Mapping[str, Key]:
    """The keywords of `trex.find` that are keys of a query."""
    found: dict[str, Key] = {}
    for section, whole in Query.model_fields.items():
        if not (isinstance(whole.annotation, type) and issubclass(whole.annotation, BaseModel)):
            found[section] = _key(section, whole)
            continue
        for key, info in whole.annotation.model_fields.items():
            keyword = OPTIONS[section] if key == "options" else section if key in NAMES else key
            found[keyword] = _key(f"{section}.{key}", info)
    return found | OBJECTS | {"target": found["target"]._replace(type=object)}


def _key(dotted: str, info: FieldInfo) -> Key:
    words, example = KEYS.get(dotted, ("", None))
    return Key(dotted, info.annotation, info.get_default(call_default_factory=True), words, example)


def named_objects(keyed: Mapping[str, object]) -> Mapping[str, object]:
    """Keys of a query with names for the objects among them: a world, a target, a proposal."""
    from trex.worlds.own.names import named

    return named(keyed)


def _absolute(introduce: object) -> object:
    """Paths of shape cards made absolute."""
    names = [introduce] if isinstance(introduce, str) else introduce
    if not isinstance(names, list):
        return introduce
    return [str(from_home(Path(name)).absolute()) if str(name).endswith(".toml") else name for name in names]
