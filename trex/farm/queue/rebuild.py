"""Rebuilds the queue from the run folders, which hold everything durable."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from trex.farm.queue.entry import Entry, entry_of
from trex.farm.queue.queue import find_entry, insert
from trex.farm.queue.queue_file import (
    SIDE_FILES,
    QueueDamaged,
    QueueMissing,
    has_queue,
    queue_file,
    transaction,
)
from trex.farm.queue.queued_folder import QUEUED, entry_from_folder, queued_folders
from trex.foundation.errors import InputError, RunError

DAMAGED_SUFFIX = ".damaged"


@dataclass(frozen=True)
class Rebuilt:
    """The entries of the new queue, the reasons why folders were skipped, and the new path of a damaged queue file."""

    entries: tuple[Entry, ...]
    skipped: tuple[str, ...]
    moved_to: Path | None


def rebuild(runs: Path) -> Rebuilt:
    """Rebuild the queue from the marks in the run folders; folders without a mark are queued.

    If the old file is readable, keeps its leases, attempts and times: workers may be running.
    """
    if not runs.is_dir():
        raise InputError(f"{runs} is not a folder; give the runs folder with --runs")
    moved_to = None if _is_sound(runs) else _move_away(runs)
    with transaction(runs) as db:
        found, skipped = _read_entries(runs)  # in here: a change that came between would be undone
        entries = [_with_history(entry, find_entry(db, entry.id)) for entry in found]
        db.execute("DELETE FROM entries")
        insert(db, entries)
    return Rebuilt(tuple(entries), tuple(skipped), moved_to)


def _read_entries(runs: Path) -> tuple[list[Entry], list[str]]:
    entries, skipped = [], []
    for entry_id, path in queued_folders(runs).items():
        try:
            entry = entry_from_folder(path)
            if entry.id != entry_id:
                raise RunError(
                    f"{path} is named after entry {entry_id}, but its {QUEUED} names entry {entry.id}"
                )
            entries.append(entry)
        except (RunError, OSError) as error:
            skipped.append(str(error))
    return entries, skipped


def _with_history(entry: Entry, before: Entry | None) -> Entry:
    """The entry with what its folder does not record: owner, attempts, start and end."""
    if before is None or before.folder != entry.folder:
        return entry
    entry = replace(entry, attempts=before.attempts, began=before.began, ended=before.ended)
    if entry.state == "queued" and before.state == "running":
        return replace(entry, state="running", owner=before.owner, expires=before.expires)
    return entry


def _is_sound(runs: Path) -> bool:
    if not has_queue(runs):
        return True
    try:
        with transaction(runs) as db:
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            for row in db.execute("SELECT * FROM entries"):
                entry_of(row)
            return bool(verdict == "ok")
    except (QueueDamaged, QueueMissing, sqlite3.DatabaseError):
        return False


def _move_away(runs: Path) -> Path | None:
    """Rename a damaged file or delete an empty one, and delete SQLite's side files, which are useless alone."""
    path = queue_file(runs)
    is_empty = path.is_file() and not path.stat().st_size
    moved_to = None if is_empty else path.with_name(path.name + DAMAGED_SUFFIX)
    if moved_to is None:
        path.unlink()
    else:
        path.replace(moved_to)
    for ending in SIDE_FILES:
        path.with_name(path.name + ending).unlink(missing_ok=True)
    return moved_to
