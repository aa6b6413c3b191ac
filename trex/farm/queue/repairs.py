"""Repairs in the queue: the folder is that of a repair on rendered scenes that has begun."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from trex.farm.queue.requests import QueueRequest
from trex.foundation.errors import InputError
from trex.foundation.words import quoted
from trex.query.schema import Query
from trex.query.toml_text import toml_value
from trex.repair.folder import begin
from trex.repair.settings import SceneQuery, chosen_table, repair_path, repair_query
from trex.repair.steps import domain_of


def repair_request(named: str, overrides: Sequence[str]) -> QueueRequest:
    """The request of a repair, checked like `trex repair identify` does; InputError for one that renders nothing."""
    path = repair_path(named)
    text, table = chosen_table(path, overrides)
    query = repair_query(table, str(path))
    if not isinstance(query, SceneQuery):
        raise InputError(
            f"{named} renders nothing, so no farm is needed: trex repair identify {quoted(named)}"
        )
    if places := _absolute(query):
        text, table = chosen_table(path, [*overrides, *places])
        query = repair_query(table, str(path))
    sources, _ = domain_of(query).prepare(query, None, None, None)
    files = begin(text, sources)
    content = " ".join(["repair", *(f"{name} {data!r}" for name, data in files.items())])
    return QueueRequest(
        id=hashlib.sha256(content.encode()).hexdigest()[:16],
        kind="repair",
        source=path.resolve(),
        text=text,
        overrides=tuple(overrides),
        question=f"repair of {query.model.name}",
        query=Query(),
        files=files,
    )


def _absolute(query: SceneQuery) -> list[str]:
    """Overrides by which the query names files by absolute paths: the queue may run elsewhere."""
    model, runs = query.model.name, [os.path.expanduser(run) for run in query.identify.runs]
    found = []
    if os.path.isfile(model) and not os.path.isabs(model):
        found.append(f"model.name={toml_value('model.name', os.path.abspath(model))}")
    if not all(map(os.path.isabs, runs)):
        found.append(f"identify.runs={toml_value('identify.runs', [os.path.abspath(run) for run in runs])}")
    return found
