"""Runs folders with a queue in them, for the tests of how entries change and of what looks at them."""

from __future__ import annotations

import time
from pathlib import Path

from tests.running.command_line import trex_done
from tests.running.runs import go_on, write_query
from trex.farm.queue import queue
from trex.farm.queue.entry import Entry
from trex.farm.queue.queue_file import transaction
from trex.farm.queue.queued_folder import open_queued, read_queued
from trex.farm.status import FarmStatus, RunStatus, WorkerStatus, write_farm_status, write_run_status
from trex.finding.find import manifest_of
from trex.runs.folder import RunFolder, begin
from trex.search.progress import Status

OWNER = "farm<b>1"  # a name that a page must not take for HTML


def queued(folder: Path, sweep: str = "search.seed=0..4") -> Path:
    """A runs folder with these queries waiting."""
    trex_done("queue", "add", write_query(folder), "--sweep", sweep, "--runs", folder / "runs")
    return folder / "runs"


def begun(path: Path) -> RunFolder:
    """The run of a folder that waited, as a worker begins it."""
    waiting = read_queued(path)
    world = open_queued(path).open()
    return begin(path, waiting.text, manifest_of(world, Path(waiting.source), waiting.overrides))


def finished(runs: Path, entry: Entry) -> None:
    """Carried out to its report."""
    begun(runs / entry.folder).close()
    go_on(runs / entry.folder)
    now = time.time()
    with_lease = queue.claim(runs, OWNER, now, 60.0)
    assert with_lease is not None and with_lease.id == entry.id
    queue.finish(runs, entry.id, OWNER, now)


def working(runs: Path, now: float) -> Entry:
    """The next entry, claimed, half done, with one worker on it."""
    entry = queue.claim(runs, OWNER, now, 60.0)
    assert entry is not None
    status = Status("chain", 6, 12, 30, 18, 9, 0.875, 1, 0)
    write_run_status(runs / entry.folder, RunStatus(status, 2.5, 1, 125.0, now))
    worker = WorkerStatus("worker-0", "here", entry.id, 7, 30, 1, 512.0, now)
    write_farm_status(runs, FarmStatus(OWNER, "here", 1, now, now, 2, (worker,)))
    return entry


def line_of(text: str, part: str) -> str:
    """The one line that holds this."""
    (line,) = (line for line in text.splitlines() if part in line)
    return line


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
