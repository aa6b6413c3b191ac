"""`trex work` itself: killed and begun again, stopped politely, cancelled, with queries that fail."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
import typer
from farm_pools import SEARCHES, ChaosPool, add, farmed, new_worker, undisturbed, work
from farm_processes import n_draws, start_work, wait_for

from harness.farm import queue
from harness.farm.answers import Trouble
from harness.farm.desk import Ticket
from harness.farm.pool import Answered
from harness.farm.pool_here import PoolHere
from harness.farm.queue_entry import run_path
from harness.farm.work import Farm
from harness.farm.worlds import Refused, Worlds
from harness.run_folder import MANIFEST
from harness.stopping import stoppable

CHAINS = SEARCHES["chains"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return undisturbed(tmp_path_factory.mktemp("whole"), [CHAINS])[0]


def test_a_killed_trex_work_goes_on_where_it_was(tmp_path: Path, whole: bytes) -> None:
    """kill -9 in the prior scenes and in the chains; then a polite stop; then to the end."""
    entries = add(tmp_path, [CHAINS])
    lines = whole.count(b"\n")
    for moment in (1, lines // 4):
        process = start_work(tmp_path, "--lease", "2")
        wait_for(lambda moment=moment: n_draws(tmp_path / "runs") >= moment)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert queue.counts(tmp_path / "runs") == {"running": 1}, "its lease outlives it, and runs out"
    process = start_work(tmp_path, "--lease", "2")
    wait_for(lambda: "attempt 3" in (tmp_path / "work.log").read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 130
    assert "Go on: trex work --runs" in (tmp_path / "work.log").read_text()
    assert queue.counts(tmp_path / "runs") == {"queued": 1}, "the lease is given back at once"
    assert work(tmp_path, PoolHere(new_worker(tmp_path))).done == 1
    assert farmed(tmp_path, entries) == [whole]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_in_the_moment_of_the_claim_gives_the_lease_back(tmp_path: Path, stop: signal.Signals) -> None:
    add(tmp_path, [CHAINS])

    def say(line: str) -> None:
        assert "priority" in line, "said of the claimed query, before its search begins"
        signal.raise_signal(stop)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a pytest that has workers ignores it
    try:
        with pytest.raises(typer.Exit), stoppable(list):
            Farm(tmp_path / "runs", PoolHere(new_worker(tmp_path)), say).run(until_empty=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert queue.counts(tmp_path / "runs") == {"queued": 1}


class Spoiled(ChaosPool):
    """Workers that do everything, but this for the runs of some entries."""

    def __init__(self, folder: Path, entry: str, trouble: Trouble) -> None:
        super().__init__(new_worker(folder), 2, seed=0, loss=0.0)
        self._entry, self._trouble = entry, trouble

    def submit(self, worker: str, ticket: Ticket) -> None:
        if ticket.job == self._entry:
            self._inbox.put(Answered(worker, ticket, self._trouble))
        else:
            super().submit(worker, ticket)


def test_a_query_that_fails_leaves_the_others_alone(tmp_path: Path, whole: bytes) -> None:
    bad, good = add(tmp_path, [["search.seed=3", "search.steps=6"], CHAINS])
    ended = work(tmp_path, Spoiled(tmp_path, bad.id, Trouble("failed", "the lamp is broken")))
    assert (ended.done, ended.failed) == (1, 1)
    assert (run_path(tmp_path / "runs", good) / "report.html").exists()
    now = queue.entry(tmp_path / "runs", bad.id)
    assert now.state == "failed" and "the lamp is broken" in now.why
    assert farmed(tmp_path, [good]) == [whole]
    queue.retry(tmp_path / "runs", [bad.id])
    assert work(tmp_path, PoolHere(new_worker(tmp_path))).done == 1


class Cancelling(ChaosPool):
    """Workers in whose fifth piece of work for an entry somebody cancels it."""

    def __init__(self, folder: Path, entry: str) -> None:
        super().__init__(new_worker(folder), 2, seed=0, loss=0.0)
        self._runs, self._entry, self.pieces = folder / "runs", entry, 0

    def submit(self, worker: str, ticket: Ticket) -> None:
        self.pieces += ticket.job == self._entry
        if self.pieces == 5:
            queue.cancel(self._runs, [self._entry], time.time())
            time.sleep(0.6)  # the queue is looked at every half second
        super().submit(worker, ticket)


def test_a_cancelled_query_ends_and_keeps_its_draws(tmp_path: Path, whole: bytes) -> None:
    entries = add(tmp_path, [CHAINS])
    ended = work(tmp_path, Cancelling(tmp_path, entries[0].id))
    assert (ended.done, ended.failed) == (0, 0)
    kept = farmed(tmp_path, entries)[0]
    assert 0 < len(kept) < len(whole) and whole.startswith(kept)
    assert queue.counts(tmp_path / "runs") == {"cancelled": 1}
    queue.retry(tmp_path / "runs", [entries[0].id])
    assert work(tmp_path, PoolHere(new_worker(tmp_path))).done == 1
    assert farmed(tmp_path, entries) == [whole]


def test_a_run_that_would_be_scored_otherwise_is_refused(tmp_path: Path) -> None:
    entries = add(tmp_path, [["search.steps=0"]])
    work(tmp_path, PoolHere(new_worker(tmp_path)))
    run = run_path(tmp_path / "runs", entries[0])
    worlds = Worlds(None)
    assert worlds.engine(run)
    text = (run / MANIFEST).read_text().replace('"renderer": "fake v1', '"renderer": "fake v0')
    (run / MANIFEST).write_text(text)
    with pytest.raises(Refused, match="the renderer was fake v0"):
        Worlds(None).engine(run)
