"""Queues of entries that nobody carries out, for the tests of how entries change their state."""

from __future__ import annotations

from pathlib import Path

from trex.farm.queue import queue
from trex.farm.queue.entry import Entry
from trex.farm.queue.queue_file import transaction


def waiting(number: int, priority: int = 0, added: float = 0.0) -> Entry:
    """An entry that was just queued."""
    return Entry(
        id=f"{number:016x}", folder=f"q-{number:016x}", source="q.toml", question="?", state="queued",
        priority=priority, attempts=0, added=added, place=number, began=None, ended=None, owner=None,
        expires=None, why="",
    )  # fmt: skip


def filled(runs: Path, *new: Entry) -> Path:
    """A queue with these entries and their folders."""
    for entry in new:
        (runs / entry.folder).mkdir(parents=True)
    with transaction(runs) as db:
        queue.insert(db, new)
    return runs
