"""Queries to queue, checked like `trex check` does, with their content keys."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trex.farm.queue.entry import Kind
from trex.farm.queue.sweep import MAX_ENTRIES
from trex.foundation.errors import InputError
from trex.query.schema import Query
from trex.query.shape_cards import read_card
from trex.query.shipped import query_path
from trex.query.toml_file import parse_table, query_in, read_text
from trex.runs.trust import check_query
from trex.worlds.fingerprint import file_fingerprint, model_fingerprint
from trex.worlds.registry import make_plan

SEED = {"search": {"seed"}}  # no check depends on it


@dataclass(frozen=True)
class QueueRequest:
    """A checked query with its overrides, an audit with its options, or a repair; `id` is its content key."""

    id: str
    source: Path  # a query's absolute path
    text: str
    overrides: tuple[str, ...]
    question: str
    query: Query  # of an audit one that names the same code, of a repair one that names none
    kind: Kind = "query"
    files: Mapping[str, bytes] = field(
        default_factory=dict
    )  # by name, that the folder has from the beginning


@dataclass(frozen=True)
class Planned:
    """The part of a content key that queries share if they differ only in the seed; also their question."""

    question: str
    content: str


def query_files(patterns: Sequence[str]) -> list[Path]:
    """The files of paths, names of shipped queries, and patterns with *, ? or []; InputError if one matches none."""
    found = []
    for pattern in patterns:
        matches = (
            [pattern] if Path(pattern).exists() or not glob.has_magic(pattern) else sorted(glob.glob(pattern))
        )
        if not matches:
            raise InputError(
                f"no file matches {pattern!r}; give paths of TOML files, such as those in queries/"
            )
        found += [query_path(Path(match)) for match in matches]
    return found


def queue_requests(
    files: Sequence[Path], settings: Sequence[str], swept: Sequence[tuple[str, ...]]
) -> list[QueueRequest]:
    """A request for every file and combination of overrides; InputError if one of them is not a valid query."""
    if len(files) * len(swept) > MAX_ENTRIES:
        raise InputError(
            f"{len(files)} files times {len(swept):,} combinations exceed the limit of {MAX_ENTRIES:,} entries; "
            "add fewer at a time"
        )
    planned: dict[str, Planned] = {}
    return [
        request
        for path in files
        for request in _of_file(Path(os.path.realpath(path)), path, settings, swept, planned)
    ]


def _of_file(
    source: Path,
    named: Path,
    settings: Sequence[str],
    swept: Sequence[tuple[str, ...]],
    planned: dict[str, Planned],
) -> list[QueueRequest]:
    text = read_text(named)
    table = parse_table(text, str(named))
    requests = []
    for values in swept:
        overrides = (*settings, *values)
        query = query_in(table, str(named), overrides)
        check_query(named, query, overrides)
        key = f"{source.parent} {query.model_dump_json(exclude=SEED)}"
        if key not in planned:
            planned[key] = _planned(query, source.parent, " ".join([str(named), *overrides]))
        content = f"{query.search.seed} {planned[key].content}"
        entry_id = hashlib.sha256(content.encode()).hexdigest()[:16]
        requests.append(QueueRequest(entry_id, source, text, overrides, planned[key].question, query))
    return requests


def _planned(query: Query, query_dir: Path, named: str) -> Planned:
    plan = make_plan(query, query_dir, named)
    resolved = plan.query.model_dump_json(exclude=SEED)
    model = model_fingerprint(plan.model_name, plan.bound)
    return Planned(plan.question.text, " ".join([resolved, model, *_cards(query, query_dir)]))


def _cards(query: Query, query_dir: Path) -> list[str]:
    """A fingerprint of each introduced shape, from its card and its mesh file."""
    cards = [read_card(name, query_dir) for name in query.scene.introduce]
    meshes = [Path(card.mesh) for card in cards]
    return [
        f"{card} {file_fingerprint(mesh) if mesh.is_absolute() else 'shipped'}"
        for card, mesh in zip(cards, meshes, strict=True)
    ]
