"""How many workers one scheduler can keep busy: simulated workers on a virtual clock, everything else as it is.

Desk, books, searches, journals and scheduler are those of `trex work`. A simulated worker answers with made-up records
after so many virtual seconds a render. The clock goes on by the CPU time that this process spends (making up records
left out, waiting for the disk too), since that is what a single scheduler has to share.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from trex.foundation.errors import InputError
from trex.inference.statistics.importance import prior_draw
from trex.inference.types import Prior
from trex.runs.folder import create
from trex.runs.journal import Journal
from trex.runs.manifest import Manifest
from trex.runs.record import PRIOR, Record
from trex.search.progress import Silent
from trex.search.search import Search
from trex.workers.engine import FarmEngine
from trex.workers.pool import Answered, Inbox, Joined
from trex.workers.scheduler import Scheduler
from trex.workers.task_board import Task, TaskBoard
from trex.workers.task_result import TaskResult
from trex.workers.tasks import ChainSegment, DrawSegment, Segment, lines_of
from trex.worlds.latents import Latent, to_stored


@dataclass(frozen=True)
class Load:
    """So many workers, each with so many seconds a render, and the queries that they carry out."""

    workers: int
    render_s: float
    queries: int


@dataclass(frozen=True)
class Outcome:
    """What came of a load: renders in so many virtual seconds, `own_s` of them CPU time of the scheduler's process."""

    renders: int
    seconds: float
    own_s: float

    @property
    def renders_per_s(self) -> float:
        """Renders a virtual second."""
        return self.renders / self.seconds

    @property
    def most_per_s(self) -> float:
        """Renders a second at which the scheduler's process would do nothing else any more."""
        return self.renders / self.own_s


class SimulatedPool:
    """Workers that need no time of ours; `clock` is virtual."""

    chains_per_task = 1

    def __init__(self, load: Load, prior: Prior[Latent], n_labels: int) -> None:
        self.size, self._render_s = load.workers, load.render_s
        self._z = [prior_draw(0, index, prior) for index in range(16)]
        self._log_probs = (math.log(0.5), *[math.log(0.5 / (n_labels - 1))] * (n_labels - 1))
        self._due: list[tuple[float, int, Answered]] = []
        self._numbers = itertools.count()
        self.clock = self.imagined_s = 0.0
        self.renders = 0

    def start(self, inbox: Inbox) -> None:
        """See `Pool`."""
        self._inbox = inbox
        for number in range(self.size):
            inbox.put(Joined(str(number), "simulated", 0))

    def submit(self, worker: str, task: Task) -> None:
        """The answer is made at once, and told when its time has come."""
        began = time.thread_time()
        assert isinstance(task.work, DrawSegment | ChainSegment)
        lines = tuple(lines_of(self._records(task.work)))
        seconds = len(lines) * self._render_s
        due = (
            self.clock + seconds,
            next(self._numbers),
            Answered(worker, task, TaskResult(lines, len(lines), seconds)),
        )
        heapq.heappush(self._due, due)
        self.imagined_s += time.thread_time() - began

    def advance(self) -> bool:
        """Go on to the next moment at which something is due, and tell all that is; False where nothing is out."""
        if not self._due:
            return False
        self.clock = max(self.clock, self._due[0][0])
        while self._due and self._due[0][0] <= self.clock:
            answer = heapq.heappop(self._due)[2]
            self.renders += answer.answer.renders if isinstance(answer.answer, TaskResult) else 0
            self._inbox.put(answer)
        return True

    def check(self) -> None:
        """They are always there."""

    def close(self) -> None:
        """They hold nothing."""

    def _records(self, segment: Segment) -> list[Record]:
        return [self._record(segment, *key) for key in segment.keys]

    def _record(self, segment: Segment, phase: str, chain: int, index: int) -> Record:
        z, log_prior = self._z[index % len(self._z)]
        is_accepted = phase == PRIOR or index % 3 == 0
        made = Record(
            phase, chain, index, to_stored(z), is_accepted, log_prior, -10.0, 0.0, self._log_probs, (9,) * 5
        )
        if isinstance(segment, DrawSegment):
            return made
        return replace(made, rng=segment.begin.rng_states[segment.chains.index(chain)])


def simulate(load: Load, manifest: Manifest, prior: Prior[Latent], scratch: Path) -> Outcome:
    """Carry the load out; the manifest is that of each query, which must stop for nothing that it finds."""
    if manifest.query.search.stop_when_found:
        raise InputError("a simulated search finds nothing of worth; set search.stop_when_found = 0")
    inbox = Inbox()
    board, pool = TaskBoard(), SimulatedPool(load, prior, len(manifest.facts.labels))
    scheduler = Scheduler(board, pool, inbox)
    pool.start(inbox)
    began = time.process_time()
    threads = [_search(board, f"query-{number}", manifest, scratch) for number in range(load.queries)]
    own_s = 0.0
    while True:
        board.wait_until_quiet()
        scheduler.turn(0.0)
        scheduler.hand_out()
        spent = time.process_time() - began - pool.imagined_s
        pool.clock, own_s = pool.clock + spent - own_s, spent
        if not pool.advance() and not board.jobs:
            break
    for thread in threads:
        thread.join()
    return Outcome(pool.renders, pool.clock, own_s)


def _search(board: TaskBoard, name: str, manifest: Manifest, scratch: Path) -> threading.Thread:
    """A search as `trex work` has it, short of the report."""

    def run() -> None:
        try:
            with create(scratch / name, "", manifest) as folder, Journal(folder) as journal:
                engine = FarmEngine(board, name, folder, chains_per_task=1, tasks_ahead=1)
                Search(folder, engine, journal, Silent()).run()
        finally:
            board.close(name)

    board.open(name, 0)
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
