"""Adds queries, audits and repairs to the queue: first makes their run folders, then inserts all in one transaction."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.farm.queue.entry import Entry
from trex.farm.queue.queue import find_entry, insert
from trex.farm.queue.queue_file import run_error, transaction
from trex.farm.queue.queued_folder import (
    CODEC,
    QUEUED,
    Queued,
    entry_from_folder,
    is_queued,
    queued_folders,
    to_entry,
)
from trex.farm.queue.requests import QueueRequest
from trex.foundation.errors import InputError
from trex.foundation.locked_folder import make_owned, sweep
from trex.runs.folder import check_free
from trex.runs.trust import record_made_here

SCRATCH = ".adding-"


@dataclass(frozen=True)
class Added:
    """The entry of an added query, and whether it is new."""

    entry: Entry
    is_new: bool


def add(runs: Path, requests: Sequence[QueueRequest], priority: int, now: float) -> list[Added]:
    """Queue the requested queries; returns an `Added` for each different query, in the order of the requests.

    A query that has an entry and a run folder is not queued again; one whose run folder was deleted is. If the run
    folder has no entry, as after a kill, the entry is restored from the folder.
    """
    check_free(runs, "--runs")
    folders = queued_folders(runs)
    by_id = {request.id: request for request in requests}
    names = {entry_id: f"{_stem(request.source)}-{entry_id}" for entry_id, request in by_id.items()}
    missing = [request for request in by_id.values() if request.id not in folders]
    new = {names[request.id]: _queued(request, priority, now, place) for place, request in enumerate(missing)}
    taken = _make_folders(runs, new, {names[entry_id]: request for entry_id, request in by_id.items()})
    new_by_id = {queued.id: (name, queued) for name, queued in new.items() if name not in taken}
    folders |= {new[name].id: runs / name for name in taken}
    with transaction(runs) as db:
        earlier = {entry_id: find_entry(db, entry_id) for entry_id in by_id}
        added = [_added(entry_id, earlier[entry_id], folders, new_by_id) for entry_id in by_id]
        to_insert = [item.entry for item in added if item.entry is not earlier[item.entry.id]]
        db.executemany(
            "DELETE FROM entries WHERE id = ?", [(entry.id,) for entry in to_insert]
        )  # entries whose folders were deleted
        insert(db, to_insert)
    return added


def _added(
    entry_id: str,
    earlier: Entry | None,
    folders: Mapping[str, Path],
    new: Mapping[str, tuple[str, Queued]],
) -> Added:
    """The new entry, the one in the queue or, if there is none, the one that its run folder describes."""
    if entry_id in new:
        entry = to_entry(*new[entry_id])
        if earlier is not None and (earlier.folder, earlier.added) == (entry.folder, entry.added):
            return Added(earlier, is_new=True)  # another process has found the folder, maybe claimed it
        return Added(entry, is_new=True)
    if earlier is not None and earlier.folder == folders[entry_id].name:
        return Added(earlier, is_new=False)
    return Added(entry_from_folder(folders[entry_id]), is_new=False)


def _queued(request: QueueRequest, priority: int, now: float, place: int) -> Queued:
    return Queued(
        kind=request.kind, id=request.id, source=str(request.source), text=request.text, overrides=request.overrides,
        question=request.question, priority=priority, added=now, place=place,
    )  # fmt: skip


def _stem(source: Path) -> str:
    """The query file's name, as the first part of a folder name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", source.stem).lstrip(".-")[:80] or "query"


def _make_folders(runs: Path, new: Mapping[str, Queued], requests: Mapping[str, QueueRequest]) -> set[str]:
    """Make the new run folders in a scratch folder, sync them together, then rename them into place.

    First deletes the scratch folders of killed processes. `requests` are by folder name. Returns the
    names that another process has taken meanwhile, for the same queries.
    """
    for name in new:
        if os.path.lexists(runs / name) and not is_queued(f"{runs}/{name}"):
            raise InputError(f"{runs / name} exists but holds no queued query; move it elsewhere")
    scratch = None
    try:
        runs.mkdir(parents=True, exist_ok=True)
        sweep(SCRATCH, runs)
        scratch = make_owned(SCRATCH, runs)
        for name, queued in new.items():
            os.mkdir(f"{scratch.path}/{name}")
            for file, content in {**requests[name].files, QUEUED: CODEC.line(queued)}.items():
                Path(f"{scratch.path}/{name}/{file}").write_bytes(content)
        os.sync()  # once for all: syncing each file would cost a millisecond
        taken = set()
        for name in new:
            record_made_here(
                runs / name, requests[name].query
            )  # first: without it, the folder would be foreign
            if not put_in_place(f"{scratch.path}/{name}", f"{runs}/{name}"):
                taken.add(name)
        return taken
    except OSError as error:
        raise run_error(error, runs) from error
    finally:
        if scratch is not None:
            scratch.remove()


def put_in_place(scratch: str, place: str) -> bool:
    """Rename a scratch folder to its place; False if another process has added the same query: its folder stays."""
    try:
        os.rename(scratch, place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or not is_queued(place):
            raise
        return False
    return True
