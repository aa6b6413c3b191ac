"""The queue's operations: claims, leases and outcomes. Every change is one transaction.

Time is an argument (Unix seconds). The run folders hold the durable state: see trex/farm/queue/queued_folder.py.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from trex.farm.queue.entry import ENDED, OPEN, STATES, Entry, State, check_states, entry_of, run_path
from trex.farm.queue.queue_file import change, has_queue, reading
from trex.farm.queue.queued_folder import (
    QUEUED,
    clear_marks,
    mark_cancelled,
    mark_failed,
    mark_priority,
    read_queued,
)
from trex.foundation.errors import InputError, RunError
from trex.foundation.locked_folder import make_owned, sweep
from trex.foundation.words import quoted
from trex.runs.folder import is_run, open_run

TURN = "priority DESC, added, place, id"
LATEST = "ended DESC, added DESC, place DESC, id"
SCRATCH = ".cleaning-"
log = logging.getLogger(__name__)


class NotRemoved(RunError):
    """A run folder was not deleted, and so its entry stays."""


class LeaseLost(RunError):
    """The lease is lost: the entry was cancelled, or the lease expired and another worker claimed it."""


def claim(
    runs: Path, owner: str, now: float, lease_s: float, *, excluded: Collection[str] = ()
) -> Entry | None:
    """Claim the next entry until `now + lease_s`: a queued one, or one whose lease has expired.

    The highest priority goes first, then the oldest entry; skips the ids in `excluded`. None if no entry is left.
    """
    marks = ", ".join("?" * len(excluded))
    with change(runs) as db:
        row = db.execute(
            "UPDATE entries SET state = 'running', owner = ?, expires = ?, attempts = attempts + 1, "
            "began = coalesce(began, ?) WHERE id = (SELECT id FROM entries WHERE (state = 'queued' "
            f"OR (state = 'running' AND expires <= ?)) AND id NOT IN ({marks}) ORDER BY {TURN} LIMIT 1) RETURNING *",
            (owner, now + lease_s, now, now, *excluded),
        ).fetchone()
        return entry_of(row) if row else None


def heartbeat(runs: Path, ids: Sequence[str], owner: str, now: float, lease_s: float) -> frozenset[str]:
    """Renew the leases of these entries until `now + lease_s`; return the ids that the owner still holds."""
    with change(runs) as db:
        held = [
            entry_id
            for entry_id in ids
            if db.execute(
                "UPDATE entries SET expires = ? WHERE id = ? AND state = 'running' AND owner = ?",
                (now + lease_s, entry_id, owner),
            ).rowcount
        ]
    return frozenset(held)


def release(runs: Path, entry_id: str, owner: str) -> Entry:
    """Return an entry to the queue; this claim does not count as an attempt."""
    with change(runs) as db:
        _leased(db, entry_id, owner)
        return _update(
            db, entry_id, "state = 'queued', owner = NULL, expires = NULL, attempts = max(attempts - 1, 0)"
        )


def finish(runs: Path, entry_id: str, owner: str, now: float) -> Entry:
    """Mark the entry as done: its run has a report."""
    with change(runs) as db:
        _leased(db, entry_id, owner)
        return _update(db, entry_id, "state = 'done', owner = NULL, expires = NULL, ended = ?", now)


def fail(runs: Path, entry_id: str, owner: str, now: float, why: str) -> Entry:
    """Mark the entry as failed; stores the reason `why`, in the run folder too."""
    with change(runs) as db:
        leased = _leased(db, entry_id, owner)
        try:
            folder = run_path(runs, leased)
        except RunError:  # a folder that is none of the queue's any more gets no mark
            log.warning("entry %s failed, and its run folder cannot be marked: %s", entry_id, why)
        else:
            mark_failed(folder, why)
        fields = "state = 'failed', owner = NULL, expires = NULL, ended = ?, why = ?"
        return _update(db, entry_id, fields, now, why)


def cancel(runs: Path, ids: Sequence[str], now: float) -> list[Entry]:
    """Cancel entries, all of them or none; a running one stops after its current task."""
    with change(runs) as db:
        entries = [_entry_by_prefix(db, runs, part) for part in ids]
        clean = f"trex queue clean --failed --runs {quoted(runs)} removes ended entries from the list"
        check_states(entries, "cancelled", OPEN, clean)
        folders = [run_path(runs, entry) for entry in entries]
        marked: list[Path] = []
        try:
            for folder in folders:
                mark_cancelled(folder)
                marked.append(folder)
        except BaseException:
            for folder in marked:
                clear_marks(folder)
            raise
        fields = "state = 'cancelled', owner = NULL, expires = NULL, ended = ?"
        return [_update(db, entry.id, fields, now) for entry in entries]


def retry(runs: Path, ids: Sequence[str]) -> list[Entry]:
    """Queue failed and cancelled entries again, all of them or none; their draws are kept."""
    with change(runs) as db:
        entries = [_entry_by_prefix(db, runs, part) for part in ids]
        check_states(entries, "retried", ENDED, "drop its ID from the command")
        for folder in [run_path(runs, entry) for entry in entries]:
            clear_marks(folder)
        fields = "state = 'queued', attempts = 0, began = NULL, ended = NULL, why = ''"
        return [_update(db, entry.id, fields) for entry in entries]


def prioritize(runs: Path, ids: Sequence[str], priority: int) -> list[Entry]:
    """Change the priority of entries, all of them or none; a running one uses it from its next task on."""
    with change(runs) as db:
        entries = [_entry_by_prefix(db, runs, part) for part in ids]
        again = f"trex queue retry ID --runs {quoted(runs)} queues a failed or cancelled entry again"
        check_states(entries, "reprioritized", OPEN, again)
        folders = [run_path(runs, entry) for entry in entries]
        for path, queued in [(path, read_queued(path)) for path in folders]:
            mark_priority(path, queued, priority)
        return [_update(db, entry.id, "priority = ?", priority) for entry in entries]


def remove(runs: Path, ended: Entry, delete: Callable[[Path], None] | None = None) -> bool:
    """Remove an ended entry from the queue, unless it has changed since it was read: whether it was removed.

    Its run folder stays, or is given to `delete` in the same transaction; if that fails, NotRemoved: both stay.
    """
    with change(runs) as db:
        same = "id = ? AND state = ? AND ended IS ? AND attempts = ?"
        values = (ended.id, ended.state, ended.ended, ended.attempts)
        if not db.execute(f"DELETE FROM entries WHERE {same}", values).rowcount:
            return False
        if delete is not None:
            try:
                delete(run_path(runs, ended))
            except (RunError, OSError) as error:
                raise NotRemoved(str(error)) from error
        return True


def entries(
    runs: Path, states: Sequence[State] = (), limit: int | None = None, *, offset: int = 0, order: str = TURN
) -> list[Entry]:
    """Entries in these states (all if none are given), in queue order, or the most recently ended first."""
    if not has_queue(runs):
        return []
    where = f"WHERE state IN ({', '.join('?' * len(states))})" if states else ""
    with reading(runs) as db:
        query = f"SELECT * FROM entries {where} ORDER BY {order} LIMIT ? OFFSET ?"
        rows = db.execute(query, (*states, -1 if limit is None else limit, offset)).fetchall()
        return [entry_of(row) for row in rows]


def entry(runs: Path, part: str) -> Entry:
    """The entry whose id starts with `part`; InputError if none or several do."""
    if not has_queue(runs):
        raise InputError(
            f"{runs} has no queue; add a query first: trex queue add QUERY --runs {quoted(runs)}"
        )
    with reading(runs) as db:
        return _entry_by_prefix(db, runs, part)


def counts(runs: Path) -> dict[str, int]:
    """The number of entries in each state, without empty states."""
    if not has_queue(runs):
        return {}
    with reading(runs) as db:
        found = dict(db.execute("SELECT state, count(*) FROM entries GROUP BY state").fetchall())
        if not found.keys() <= set(STATES):
            raise sqlite3.DataError(f"an entry's state is none of {', '.join(STATES)}")
        return found


def insert(db: sqlite3.Connection, new: Sequence[Entry]) -> None:
    """Insert entries; the caller owns the transaction."""
    names = Entry.__slots__
    rows = [tuple(getattr(entry, name) for name in names) for entry in new]
    marks = ", ".join("?" * len(names))
    db.executemany(f"INSERT INTO entries ({', '.join(names)}) VALUES ({marks})", rows)


def find_entry(db: sqlite3.Connection, entry_id: str) -> Entry | None:
    """The entry with exactly this id, or None."""
    row = db.execute("SELECT * FROM entries WHERE id = ?", (entry_id,)).fetchone()
    return entry_of(row) if row else None


def _entry_by_prefix(db: sqlite3.Connection, runs: Path, part: str) -> Entry:
    if not part:
        raise InputError(f"the ID is empty; give one of trex queue list --runs {quoted(runs)}")
    rows = db.execute("SELECT * FROM entries WHERE id >= ? AND id < ? LIMIT 2", (part, part + "g")).fetchall()
    if len(rows) != 1:
        problem = f"several entries begin with {part!r}" if rows else f"no entry {part!r} in {runs}"
        raise InputError(f"{problem}; list the ids: trex queue list --runs {quoted(runs)}")
    return entry_of(rows[0])


def _leased(db: sqlite3.Connection, entry_id: str, owner: str) -> Entry:
    entry = find_entry(db, entry_id)
    if entry is None or entry.state != "running" or entry.owner != owner:
        now = "gone" if entry is None else f"{entry.state}{f' by {entry.owner}' if entry.owner else ''}"
        raise LeaseLost(f"{owner} no longer holds entry {entry_id}, which is {now}; its draws are kept")
    return entry


def _update(db: sqlite3.Connection, entry_id: str, fields: str, *values: object) -> Entry:
    row = db.execute(f"UPDATE entries SET {fields} WHERE id = ? RETURNING *", (*values, entry_id)).fetchone()
    return entry_of(row)


def clean(runs: Path, states: Sequence[State], *, delete_runs: bool) -> tuple[list[Entry], list[str]]:
    """Remove all entries in these states, except those that were queued again meanwhile.

    The removed entries, and why the run folders of others could not be deleted.

    A run folder in use stays, and so does its entry. First deletes what killed processes left of run folders.
    """
    sweep(SCRATCH, runs)
    removed, not_deleted = [], []
    for entry in entries(runs, states):
        try:
            if remove(runs, entry, _delete if delete_runs else None):
                removed.append(entry)
        except NotRemoved as error:
            not_deleted.append(str(error))
    return removed, not_deleted


def _delete(path: Path) -> None:
    """Delete a run folder of the queue with everything in it."""
    if not path.exists():
        return
    if not (path / QUEUED).is_file():
        raise RunError(f"{path} was not deleted: it has no {QUEUED}, so it is not a run folder of the queue")
    if not is_run(path):
        _delete_at_once(path)
        return
    with open_run(path, for_writing=True):  # holds the lock: nothing else writes here
        _delete_at_once(path)


def _delete_at_once(path: Path) -> None:
    """Move the folder out of sight before deleting it: after a kill it is whole or gone, never without its query."""
    scratch = make_owned(SCRATCH, path.parent)
    try:
        shutil.rmtree(path.rename(scratch.path / path.name))
    finally:
        scratch.remove()
