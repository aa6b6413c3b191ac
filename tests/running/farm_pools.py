"""Queues of small queries on the fake world, and workers that misbehave, for the tests of the farm."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence
from pathlib import Path

from tests.running import runs
from tests.running.runs import QUERY, draws, find, run, write_query
from trex.farm.queue import add as queue_add
from trex.farm.queue.entry import Entry, run_path
from trex.farm.queue.requests import queue_requests
from trex.farm.work import Farm, WorkOutcome
from trex.farm.workers.pool import Answered, Event, Inbox, Joined, Lost, Pool
from trex.farm.workers.task_board import Task
from trex.farm.workers.tasks import Answer
from trex.farm.workers.worker import Worker, worker_log

# Each ends in another phase, as in tests.running.runs: chains to the end, an early stop, a common target, a control.
SEARCHES = {
    "chains": ["search.steps=36"],
    "stops when found": ["search.stop_when_found=3", "search.steps=40"],
    "common": [
        "search.prior_scenes=30",
        "search.further=2000",
        "target.kind=threshold",
        "target.threshold=0.01",
        "answer=0",
    ],
    "control": ["answer=6", "target.width=1e-6", "search.prior_scenes=100"],
    **{
        name: runs.SEARCHES[name]
        for name in ("bank", "second sample", "surrogate", "spread", "fragile", "noise draws")
    },
}
Queries = Sequence[Sequence[str]]


def undisturbed(folder: Path, queries: Queries) -> list[bytes]:
    """The draws of the queries, each found by `trex find` in this process."""
    for number, overrides in enumerate(queries):
        run(folder, overrides, f"whole-{number}")
    return [draws(folder / f"whole-{number}") for number in range(len(queries))]


def undisturbed_text(folder: Path, text: str, name: str) -> bytes:
    """The draws of one query of any world, found by `trex find` in this process."""
    find(write_query(folder, text), (), folder / f"whole-{name}")
    return draws(folder / f"whole-{name}")


def add(folder: Path, queries: Queries, priority: int = 0, text: str = QUERY) -> list[Entry]:
    """Queue them below FOLDER/runs."""
    (folder / "queries").mkdir(exist_ok=True)
    path = write_query(folder / "queries", text)
    each = queue_requests([path], (), [tuple(overrides) for overrides in queries])
    return [added.entry for added in queue_add.add(folder / "runs", each, priority, time.time())]


def farmed(folder: Path, entries: Sequence[Entry]) -> list[bytes]:
    """Their draws."""
    return [draws(run_path(folder / "runs", entry)) for entry in entries]


def work(folder: Path, pool: Pool, lease_s: float = 5.0) -> WorkOutcome:
    """Carry out all that is queued."""
    return Farm(folder / "runs", pool, lambda _: None, lease_s).run(until_empty=True)


def new_worker(folder: Path) -> Worker:
    """A worker that logs below FOLDER/runs."""
    return Worker(worker_log(folder / "runs", "test"))


class ChaosPool:
    """Workers that get lost, answer late, twice, and in any order, as a seeded generator says; all in this thread.

    One real worker does all the work; what is told of it is another matter. A worker is lost with probability `loss`;
    its answer may still come later, out of nowhere.
    """

    chains_per_task = 1

    def __init__(self, worker: Worker, size: int, seed: int, loss: float = 0.4) -> None:
        self._worker, self.size, self._loss = worker, size, loss
        self._rng = random.Random(f"chaos {seed}")
        self._numbers = itertools.count()
        self._held: list[Event] = []  # not told yet
        self.losses = self.doubles = self.late = 0

    def start(self, inbox: Inbox) -> None:
        self._inbox = inbox
        for _ in range(self.size):
            self._join()

    def submit(self, worker: str, task: Task) -> None:
        answer = self._worker.do(task.work)
        if self._rng.random() < self._loss:
            self._lose(worker, task, answer)
        else:
            self._held.append(Answered(worker, task, answer))
        while len(self._held) > self._rng.randrange(self.size):
            self._deliver(self._held.pop(self._rng.randrange(len(self._held))))

    def check(self) -> None:
        while self._held:
            self._deliver(self._held.pop())

    def close(self) -> None:
        self._worker.close()

    def _join(self) -> None:
        self._inbox.put(Joined(f"chaos-{next(self._numbers)}", "here", 0))

    def _lose(self, worker: str, task: Task, answer: Answer) -> None:
        self.losses += 1
        self._inbox.put(Lost(worker, "chaos"))
        self._join()
        if self._rng.random() < 0.5:
            self.late += 1
            self._held.append(Answered(worker, task, answer))

    def _deliver(self, event: Event) -> None:
        self._inbox.put(event)
        if self._rng.random() < 0.3:
            self.doubles += 1
            self._inbox.put(event)
