"""Adds queries to the queue: first their run folders, then all entries in one transaction, none of them twice."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import InputError
from trex.foundation.owned_folder import make_owned, sweep
from trex.query.schema import Query
from trex.queue.entry import Entry
from trex.queue.queue import insert, known
from trex.queue.queue_file import explain_os, transaction
from trex.queue.queued_folder import QUEUED, Queued, as_entry, found_entry, queued_folders, to_json
from trex.queue.requests import QueueRequest
from trex.runs.folder import check_free
from trex.runs.trust import keep_record

SCRATCH = ".adding-"


@dataclass(frozen=True)
class Added:
    """The entry of an added query, and whether it is new."""

    entry: Entry
    is_new: bool


def add(runs: Path, wanted: Sequence[QueueRequest], priority: int, now: float) -> list[Added]:
    """Queue the queries that have neither an entry nor a run folder; also those whose run folder was deleted.

    A kill leaves run folders without entries; the next add or rebuild picks them up.
    """
    check_free(runs)
    held = queued_folders(runs)
    each = {one.id: one for one in wanted}
    new = {
        f"{_stem(one.source)}-{one.id}": _queued(one, priority, now, place)
        for place, one in enumerate(one for one in each.values() if one.id not in held)
    }
    _make_folders(runs, new, {f"{_stem(one.source)}-{one.id}": one.query for one in each.values()})
    fresh = {queued.id: (name, queued) for name, queued in new.items()}
    with transaction(runs) as db:
        there = {entry_id: known(db, entry_id) for entry_id in each}
        added = [_added(entry_id, there[entry_id], held, fresh) for entry_id in each]
        put = [one.entry for one in added if one.entry is not there[one.entry.id]]
        db.executemany(
            "DELETE FROM entries WHERE id = ?", [(entry.id,) for entry in put]
        )  # of deleted folders
        insert(db, put)
    return added


def _added(
    entry_id: str,
    there: Entry | None,
    held: Mapping[str, Path],
    fresh: Mapping[str, tuple[str, Queued]],
) -> Added:
    """The entry in the queue or, if there is none, as its run folder describes it."""
    if entry_id in fresh:
        return Added(as_entry(*fresh[entry_id]), is_new=True)
    if there is not None and there.folder == held[entry_id].name:
        return Added(there, is_new=False)
    return Added(found_entry(held[entry_id]), is_new=False)


def _queued(one: QueueRequest, priority: int, now: float, place: int) -> Queued:
    return Queued(
        id=one.id, source=str(one.source), text=one.text, overrides=one.overrides, question=one.question,
        priority=priority, added=now, place=place,
    )  # fmt: skip


def _stem(source: Path) -> str:
    """The query file's name, as the first part of a folder name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", source.stem).lstrip(".-")[:80] or "query"


def _make_folders(runs: Path, new: Mapping[str, Queued], queries: Mapping[str, Query]) -> None:
    """Make the run folders of these `queries` in a scratch folder, sync them together, then rename them into place.

    First deletes what an add that was killed has left behind.
    """
    for name in new:
        if os.path.lexists(runs / name):
            raise InputError(f"{runs / name} is in the way: it holds no queued query; move it elsewhere")
    scratch = None
    try:
        runs.mkdir(parents=True, exist_ok=True)
        sweep(SCRATCH, runs)
        scratch = make_owned(SCRATCH, runs)
        for name, queued in new.items():
            os.mkdir(f"{scratch.path}/{name}", 0o755)
            with open(f"{scratch.path}/{name}/{QUEUED}", "wb") as file:
                file.write(to_json(queued))
        os.sync()  # once for all: syncing each file would cost a millisecond
        for name in new:
            put_in_place(f"{scratch.path}/{name}", f"{runs}/{name}")
            keep_record(runs / name, queries[name])
    except OSError as error:
        raise explain_os(error, runs) from error
    finally:
        if scratch is not None:
            scratch.remove()


def put_in_place(made: str, place: str) -> None:
    """Where another process adds the same query at this moment, the folder that came first stays."""
    try:
        os.rename(made, place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not os.path.exists(f"{place}/{QUEUED}"):
            raise
