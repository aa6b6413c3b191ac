"""Rebuilds the queue from the run folders, which hold everything durable."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.queue.entry import Entry
from trex.queue.queue import insert, known
from trex.queue.queue_file import BESIDE, QueueDamaged, QueueMissing, has_queue, queue_file, transaction
from trex.queue.queued_folder import found_entry, queued_folders

ASIDE = ".damaged"


@dataclass(frozen=True)
class Rebuilt:
    """The new queue's content, unreadable folders with the reason, and where a damaged queue file was moved."""

    entries: tuple[Entry, ...]
    skipped: tuple[str, ...]
    aside: Path | None


def rebuild(runs: Path) -> Rebuilt:
    """Rebuild the queue: finished, failed and cancelled as the folders' marks say, everything else queued.

    If the old file can be read, its leases, attempts and times are kept: workers may be running.
    """
    if not runs.is_dir():
        raise InputError(f"{runs} is no folder; give the runs folder with --runs")
    found, skipped = _found(runs)
    aside = None if _is_sound(runs) else _set_aside(runs)
    with transaction(runs) as db:
        entries = [_kept(one, known(db, one.id)) for one in found]
        db.execute("DELETE FROM entries")
        insert(db, entries)
    return Rebuilt(tuple(entries), tuple(skipped), aside)


def _found(runs: Path) -> tuple[list[Entry], list[str]]:
    entries, skipped = [], []
    for entry_id, path in queued_folders(runs).items():
        try:
            entry = found_entry(path)
            if entry.id != entry_id:
                raise RunError(f"{path} is the folder of entry {entry_id} and says that it is {entry.id}")
            entries.append(entry)
        except (RunError, OSError) as error:
            skipped.append(str(error))
    return entries, skipped


def _kept(entry: Entry, before: Entry | None) -> Entry:
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
            db.execute("SELECT * FROM entries LIMIT 1").fetchone()
            return bool(verdict == "ok")
    except (QueueDamaged, QueueMissing, sqlite3.DatabaseError):
        return False


def _set_aside(runs: Path) -> Path | None:
    """Rename a damaged file and delete an empty one, with SQLite's files beside it, which are useless alone."""
    path = queue_file(runs)
    is_empty = path.is_file() and not path.stat().st_size
    aside = None if is_empty else path.with_name(path.name + ASIDE)
    if aside is None:
        path.unlink()
    else:
        path.replace(aside)
    for ending in BESIDE:
        path.with_name(path.name + ending).unlink(missing_ok=True)
    return aside
