"""`trex queue run` itself: killed and begun again, stopped politely, cancelled, with queries that fail."""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import Result

from tests.running.command_line import refused, trex
from tests.running.farm_pools import SEARCHES, ChaosPool, add, farmed, new_worker, undisturbed, work
from tests.running.farm_processes import n_draws, start_work
from tests.running.farm_runs import begun
from tests.running.runs import change_manifest
from tests.running.waiting import wait_for
from trex.farm import work as farm_work
from trex.farm.queue import queue
from trex.farm.queue.entry import Entry, run_path
from trex.farm.queue.queue_file import QueueMissing, queue_file
from trex.farm.queue.rebuild import rebuild
from trex.farm.work import Farm
from trex.farm.workers.pool import Answered, LocalPool
from trex.farm.workers.task_board import Task
from trex.farm.workers.tasks import FailureKind, TaskFailure
from trex.farm.workers.worlds import IncompatibleWorker, Worlds
from trex.finding import find as finding
from trex.foundation.errors import RunError
from trex.foundation.files import DiskFullError
from trex.render.fake import FAKE_VERSION
from trex.runs.folder import MANIFEST
from trex.search.progress import Silent
from trex.search.stopping import stoppable

CHAINS = SEARCHES["chains"]


@pytest.fixture(scope="module")
def whole(slow: None, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return undisturbed(tmp_path_factory.mktemp("whole"), [CHAINS])[0]


@pytest.mark.process
def test_a_killed_trex_work_goes_on_where_it_was(tmp_path: Path, whole: bytes) -> None:
    """kill -9 in the prior scenes and in the chains; then a polite stop; then to the end."""
    entries = add(tmp_path, [CHAINS])
    lines, log = whole.count(b"\n"), tmp_path / "work.log"
    for claimed, moment in (("", 1), ("attempt 2", lines // 4)):
        process = start_work(tmp_path, "--lease", "2")
        wait_for(lambda claimed=claimed: claimed in log.read_text())  # type: ignore[misc]
        wait_for(lambda moment=moment: n_draws(tmp_path / "runs") >= moment)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert queue.counts(tmp_path / "runs") == {"running": 1}, "its lease outlives it, and runs out"
    process = start_work(tmp_path, "--lease", "2")
    wait_for(lambda: "attempt 3" in (tmp_path / "work.log").read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 130
    assert "Resume: trex queue run --runs" in (tmp_path / "work.log").read_text()
    assert queue.counts(tmp_path / "runs") == {"queued": 1}, "the lease is given back at once"
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).done == 1
    assert farmed(tmp_path, entries) == [whole]


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_in_the_moment_of_the_claim_gives_the_lease_back(tmp_path: Path, stop: signal.Signals) -> None:
    add(tmp_path, [CHAINS])

    def say(line: str) -> None:
        assert "priority" in line, "said of the claimed query, before its search begins"
        signal.raise_signal(stop)

    with pytest.raises(typer.Exit), stoppable(list):
        Farm(tmp_path / "runs", LocalPool(new_worker(tmp_path)), say, 30.0).run(until_empty=True)
    assert queue.counts(tmp_path / "runs") == {"queued": 1}


class Spoiled(ChaosPool):
    """Workers that do everything, but this for the runs of some entries."""

    def __init__(self, folder: Path, entry: str, trouble: TaskFailure) -> None:
        super().__init__(new_worker(folder), 2, seed=0, loss=0.0)
        self._entry, self._trouble = entry, trouble

    def submit(self, worker: str, task: Task) -> None:
        if task.job == self._entry:
            self._inbox.put(Answered(worker, task, self._trouble))
        else:
            super().submit(worker, task)


def test_a_query_that_fails_leaves_the_others_alone(tmp_path: Path, whole: bytes) -> None:
    bad, good = add(tmp_path, [["search.seed=3", "search.steps=6"], CHAINS])
    ended = work(tmp_path, Spoiled(tmp_path, bad.id, TaskFailure(FailureKind.ERROR, "the lamp is broken")))
    assert (ended.done, ended.failed) == (1, 1)
    assert (run_path(tmp_path / "runs", good) / "report.html").exists()
    now = queue.entry(tmp_path / "runs", bad.id)
    assert now.state == "failed" and "the lamp is broken" in now.why
    assert farmed(tmp_path, [good]) == [whole]
    queue.retry(tmp_path / "runs", [bad.id])
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).done == 1


def test_a_disk_without_room_for_the_queue_ends_the_work_and_the_next_one_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, why: str) -> None:
        raise DiskFullError("no space left on the disk")

    (entry,) = add(tmp_path, [["search.steps=0"]])
    runs, clock = tmp_path / "runs", Clock()
    monkeypatch.setattr(queue, "mark_failed", full)
    with pytest.raises(DiskFullError, match="no space left"):
        work(tmp_path, Spoiled(tmp_path, entry.id, TaskFailure(FailureKind.ERROR, "no space left")))
    monkeypatch.undo()
    assert queue.counts(runs) == {"running": 1}
    clock.ahead_s = 60.0
    assert (
        Farm(runs, LocalPool(new_worker(tmp_path)), lambda _: None, 5.0, clock).run(until_empty=True).done
        == 1
    )


@pytest.mark.parametrize("place", ["trex.runs.folder.to_png", "trex.runs.checked_lines.os.pwrite"])
def test_a_full_disk_ends_the_work_fails_no_query_and_the_same_command_resumes(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: one query after the other failed, and stayed so when there was room again.

    Pictures are written by workers, whose tasks are repeated, draws by the thread of the search.
    """
    queries = [["search.seed=3", "search.steps=6"], ["search.seed=4", "search.steps=6"]]
    whole, entries = undisturbed(tmp_path, queries), add(tmp_path, queries)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(place, full)
        result = trex_work(tmp_path)
    refused(result, "no space left on the disk of", "everything written before is kept", "free some space")
    assert ("a task failed 3 times" in result.stderr) == place.endswith("to_png")
    now = queue.entries(tmp_path / "runs")
    assert [(entry.state, entry.attempts) for entry in now] == [("queued", 0)] * 2
    assert trex_work(tmp_path).exit_code == 0
    assert farmed(tmp_path, entries) == whole


class Cancelling(ChaosPool):
    """Workers in whose fifth piece of work for an entry somebody cancels it."""

    def __init__(self, folder: Path, entry: str) -> None:
        super().__init__(new_worker(folder), 2, seed=0, loss=0.0)
        self._runs, self._entry, self.pieces = folder / "runs", entry, 0

    def submit(self, worker: str, task: Task) -> None:
        self.pieces += task.job == self._entry
        if self.pieces == 5:
            queue.cancel(self._runs, [self._entry], time.time())
        super().submit(worker, task)


def test_a_cancelled_query_ends_and_keeps_its_draws(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(farm_work, "TICK_S", 0.0)  # the queue is looked at in each turn
    entries = add(tmp_path, [CHAINS])
    ended = work(tmp_path, Cancelling(tmp_path, entries[0].id))
    assert (ended.done, ended.failed) == (0, 0)
    kept = farmed(tmp_path, entries)[0]
    assert 0 < len(kept) < len(whole) and whole.startswith(kept)
    assert queue.counts(tmp_path / "runs") == {"cancelled": 1}
    queue.retry(tmp_path / "runs", [entries[0].id])
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).done == 1
    assert farmed(tmp_path, entries) == [whole]


def test_a_run_that_would_be_scored_otherwise_is_refused(tmp_path: Path) -> None:
    entries = add(tmp_path, [["search.steps=0"]])
    work(tmp_path, LocalPool(new_worker(tmp_path)))
    run = run_path(tmp_path / "runs", entries[0])
    worlds = Worlds(None)
    assert worlds.engine(run)
    text = (run / MANIFEST).read_text().replace(f'"renderer": "fake v{FAKE_VERSION}', '"renderer": "fake v0')
    (run / MANIFEST).write_text(text)
    change_manifest(run, lambda data: None)
    with pytest.raises(IncompatibleWorker, match="the renderer was fake v0"):
        Worlds(None).engine(run)


def test_a_run_of_another_format_is_refused_by_trex_work_as_by_trex_resume(tmp_path: Path) -> None:
    """Planted bug: its draws were continued under other rules than they were begun with."""
    (entry,) = add(tmp_path, [CHAINS])
    run = run_path(tmp_path / "runs", entry)
    begun(run).close()
    manifest = json.loads((run / MANIFEST).read_text())
    (run / MANIFEST).write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(RunError, match="has run format 2"):
        finding.resume(run, Silent(), lambda _: None)
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).failed == 1
    assert "has run format 2" in queue.entry(tmp_path / "runs", entry.id).why
    assert farmed(tmp_path, [entry]) == [b""]


class Clock:
    """Unix seconds that go on when the test says so."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead_s


def test_a_run_whose_lock_is_held_is_given_back_and_done_later(tmp_path: Path, whole: bytes) -> None:
    """As by a `trex queue run` that was stopped longer than its lease, and whose lock outlives it."""
    (entry,) = add(tmp_path, [CHAINS])
    runs, clock, texts = tmp_path / "runs", Clock(), list[str]()
    holder = begun(run_path(runs, entry))

    def say(line: str) -> None:
        texts.append(line)
        if "another process is writing" not in line:
            return
        now = queue.entry(runs, entry.id)
        assert (now.state, now.attempts) == ("running", 1), "it is given back next"
        clock.ahead_s += 1.0
        if sum("another process is writing" in text for text in texts) == 2:
            holder.close()

    farm = Farm(runs, LocalPool(new_worker(tmp_path)), say, 5.0, clock)
    ended = farm.run(until_empty=True)
    assert (ended.done, ended.failed) == (1, 0)
    assert sum("released, will be retried in 1 s" in text for text in texts) == 2
    assert farmed(tmp_path, [entry]) == [whole]
    assert queue.entry(runs, entry.id).attempts == 1


@pytest.mark.process
def test_a_trex_work_that_was_stopped_longer_than_its_lease_harms_nothing(
    tmp_path: Path, whole: bytes
) -> None:
    """Another one meets its lock, gives the entry back, and one of the two comes to the end."""
    (entry,) = add(tmp_path, [CHAINS])
    runs, clock = tmp_path / "runs", Clock()
    stopped = start_work(tmp_path, "--lease", "600")
    wait_for(lambda: n_draws(runs) >= 1)
    stopped.send_signal(signal.SIGSTOP)
    os.waitpid(stopped.pid, os.WUNTRACED)
    clock.ahead_s = 700.0

    def say(line: str) -> None:
        if "another process is writing" in line:
            stopped.send_signal(signal.SIGCONT)

    try:
        ended = Farm(runs, LocalPool(new_worker(tmp_path)), say, 5.0, clock).run(until_empty=True)
        assert stopped.wait(60.0) == 0, (tmp_path / "work.log").read_text()
    finally:
        stopped.kill()
    assert ended.failed == 0 and "failed" not in (tmp_path / "work.log").read_text().replace("0 failed", "")
    assert queue.counts(runs) == {"done": 1}
    assert farmed(tmp_path, [entry]) == [whole]


def test_what_another_process_has_begun_meanwhile_is_not_begun_anew(tmp_path: Path) -> None:
    """A process that wakes between its claim and the run's first line."""
    (entry,) = add(tmp_path, [CHAINS])
    path = run_path(tmp_path / "runs", entry)
    begun(path).close()
    before = (path / MANIFEST).read_text()

    def change(manifest: dict[str, Any]) -> None:
        manifest["made"]["renderer"] = manifest["made"]["renderer"].replace(
            f"fake v{FAKE_VERSION}", "fake v0"
        )

    change_manifest(path, change)
    changed = (path / MANIFEST).read_text()
    with begun(path) as folder:
        assert folder.manifest.made.renderer.startswith("fake v0")
    assert (path / MANIFEST).read_text() == changed != before


def test_an_entry_that_is_no_longer_held_counts_neither_as_done_nor_as_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another has taken it over, and finished it, in the moment in which this one wants to say so."""
    (entry,) = add(tmp_path, [["search.steps=0"]])
    finish = queue.finish

    def late(runs: Path, name: str, owner: str, now: float) -> Entry:
        other = queue.claim(runs, "other", now + 1e6, 60.0)
        assert other is not None and other.id == entry.id
        finish(runs, name, "other", now)
        return finish(runs, name, owner, now)

    monkeypatch.setattr(queue, "finish", late)
    ended = work(tmp_path, LocalPool(new_worker(tmp_path)), lease_s=1e5)
    assert (ended.done, ended.failed) == (0, 0)
    assert queue.counts(tmp_path / "runs") == {"done": 1}


def trex_work(folder: Path) -> Result:
    """The command, in this process."""
    return trex("queue", "run", "--runs", folder / "runs", "--until-empty")


@pytest.mark.parametrize("lease", ["inf", "nan", "1e12", "86401"])
def test_a_lease_that_no_clock_reaches_is_refused_before_the_queue_is_touched(
    lease: str, tmp_path: Path
) -> None:
    """Planted bug: it went into the queue, which then counted as damaged."""
    (entry,) = add(tmp_path, [CHAINS])
    result = trex("queue", "run", "--runs", tmp_path / "runs", "--until-empty", "--lease", lease)
    assert result.exit_code == 2 and "--lease" in result.stderr and "give 2 to 86,400" in result.stderr
    assert queue.entries(tmp_path / "runs") == [entry]


def test_trex_work_ends_with_1_if_an_entry_failed(tmp_path: Path) -> None:
    (entry,) = add(tmp_path, [CHAINS])
    path = run_path(tmp_path / "runs", entry)
    begun(path).close()
    (path / MANIFEST).write_text("no manifest")
    result = trex_work(tmp_path)
    assert "0 done, 1 failed" in result.stdout
    assert result.exit_code == 1
    assert trex_work(tmp_path).exit_code == 0, "nothing is left, and nothing failed now"


@pytest.mark.parametrize("damage", ["empty", "text", "another database", "folder", "deleted"])
def test_trex_work_on_what_is_no_queue_points_to_rebuild(damage: str, tmp_path: Path) -> None:
    add(tmp_path, [CHAINS])
    file = queue_file(tmp_path / "runs")
    file.unlink()
    if damage == "another database":
        with closing(sqlite3.connect(file)) as db:
            db.execute("CREATE TABLE birds (name TEXT)")
    elif damage == "folder":
        file.mkdir()
    elif damage != "deleted":
        file.write_text("" if damage == "empty" else "no database " * 100)
    result = trex_work(tmp_path)
    assert result.exit_code != 0 and result.stdout == ""
    assert "trex queue rebuild" in result.stderr and result.stderr.count("\n") == 1
    if damage in ("empty", "deleted"):
        rebuilt = trex("queue", "rebuild", "--runs", tmp_path / "runs")
        assert rebuilt.exit_code == 0 and queue.counts(tmp_path / "runs") == {"queued": 1}


class Deleting(ChaosPool):
    """Workers in whose second piece of work somebody deletes the queue's file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(new_worker(folder), 2, seed=0, loss=0.0)
        self._file, self.pieces = queue_file(folder / "runs"), 0

    def submit(self, worker: str, task: Task) -> None:
        self.pieces += 1
        if self.pieces == 2:
            for path in self._file.parent.glob("queue.sqlite*"):
                path.unlink()
        super().submit(worker, task)


def test_a_queue_that_is_deleted_during_the_work_ends_it_and_points_to_rebuild(
    tmp_path: Path, whole: bytes
) -> None:
    entries = add(tmp_path, [CHAINS])
    with pytest.raises(QueueMissing, match="trex queue rebuild"):
        work(tmp_path, Deleting(tmp_path))
    assert not queue_file(tmp_path / "runs").exists(), "no empty queue takes its place"
    rebuild(tmp_path / "runs")
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).done == 1
    assert farmed(tmp_path, entries) == [whole]
