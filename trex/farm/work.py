"""`trex queue run`: claims queries, has workers run them, and marks each as done, failed or released."""

from __future__ import annotations

import logging
import os
import platform
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from trex.farm.queue import queue
from trex.farm.queue.entry import OPEN, Entry, run_path
from trex.farm.queue.queue_file import check_queue, has_queue, transaction
from trex.farm.queue.queued_folder import queued_folders, settings_of
from trex.farm.status_writer import StatusWriter
from trex.farm.workers.engine import FarmEngine
from trex.farm.workers.jobs import Dropped, RunningSearch, start_search
from trex.farm.workers.pool import Inbox, LocalPool, Pool, WorkAdded
from trex.farm.workers.scheduler import Scheduler
from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.worker import Worker, worker_log
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import DiskFullError
from trex.foundation.words import counted, quoted
from trex.pages.display import Display
from trex.runs.folder import RunFolder, RunInUse, check_free
from trex.search.progress import PHASES
from trex.search.stopping import stoppable, undivided

WAIT_S = 0.1
TICK_S = 0.5  # between two reads of the queue
RENEWALS = 5  # per lease
SHOWN = 3  # running queries on display
log = logging.getLogger(__name__)
Say = Callable[[str], None]
Clock = Callable[[], float]  # Unix seconds
Show = Callable[
    [Collection[RunningSearch], int, int], None
]  # the running searches, the number done, the number failed


@dataclass(frozen=True)
class WorkOutcome:
    """The number of queries that one `trex queue run` finished, and of those that failed."""

    done: int = 0
    failed: int = 0


class Farm:
    """One `trex queue run`: runs as many queries at once as its workers need, each leased from the queue."""

    def __init__(self, runs: Path, pool: Pool, say: Say, lease_s: float, now: Clock = time.time) -> None:
        self._runs, self._pool, self._say, self._lease_s, self._now = runs, pool, say, lease_s, now
        self.owner = f"{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._inbox = Inbox()
        self._board = TaskBoard(lambda: self._inbox.put(WorkAdded()))
        self._scheduler = Scheduler(self._board, pool, self._inbox)
        self._jobs: dict[str, RunningSearch] = {}
        self._postponed: dict[
            str, float
        ] = {}  # entries whose run another process has locked, and when to retry
        self._done = self._failed = 0
        self._is_empty = self._is_stopping = False
        self._next_tick = self._next_lease = 0.0
        self._status_writer = StatusWriter(runs, self.owner)
        self._show: Show = lambda *_: None

    def run(self, *, until_empty: bool, show: Show | None = None) -> WorkOutcome:
        """Work until the queue is empty and nothing runs, or for ever; a KeyboardInterrupt ends it in an orderly way.

        Raises QueueMissing or QueueDamaged if the queue file disappears or breaks meanwhile, DiskFullError if a disk is
        full; the queries are then queued again.
        """
        begin_queue(self._runs)
        self._show = show or self._show
        try:
            self._pool.start(self._inbox)
            while not (until_empty and self._is_empty):
                self._scheduler.turn(WAIT_S)
                self._reap()
                self._tick()
            check_queue(self._runs)  # otherwise a deleted queue looks like an empty one
            return WorkOutcome(self._done, self._failed)
        finally:
            self._stop()

    def _tick(self) -> None:
        """Every half second: renew leases, detect cancellations, claim entries, check the pool, write the status."""
        now = time.monotonic()
        if now < self._next_tick:
            return
        self._next_tick = now + TICK_S
        check_queue(self._runs)
        if now >= self._next_lease:
            self._next_lease = now + self._lease_s / RENEWALS
            self._renew()
        self._apply_queue_changes()
        while len(self._jobs) < self._max_searches() and self._claim():
            pass
        self._is_empty = not self._jobs and not queue.entries(self._runs, OPEN, limit=1)
        self._pool.check()
        self._status_writer.write(self._scheduler, self._jobs)
        self._show(self._jobs.values(), self._done, self._failed)

    def _max_searches(self) -> int:
        """The number of simultaneous queries that keeps every worker busy, even if each has only one chain."""
        return max(2, self._pool.size)

    def _renew(self) -> None:
        held = queue.heartbeat(self._runs, list(self._jobs), self.owner, self._now(), self._lease_s)
        for name in self._jobs.keys() - held:
            self._board.end(name, Dropped())

    def _apply_queue_changes(self) -> None:
        """End cancelled entries and apply changed priorities, from the next task on."""
        entries = {entry.id: entry for entry in queue.entries(self._runs, ["running"])}
        for name in self._jobs:
            entry = entries.get(name)
            if entry is None or entry.owner != self.owner:
                self._board.end(name, Dropped())
            else:
                self._board.set_priority(name, entry.priority)

    @undivided()  # the queue and this process must agree on the leases
    def _claim(self) -> bool:
        now = self._now()
        self._postponed = {name: at for name, at in self._postponed.items() if at > now}
        entry = queue.claim(self._runs, self.owner, now, self._lease_s, excluded=self._postponed)
        if entry is None:
            return False
        if entry.id in self._jobs:  # claimed again, after its lease expired while this process slept
            return True
        try:
            run = run_path(self._runs, entry)
        except RunError as error:
            self._fail(entry.id, str(error))
            return True
        self._say(f"{run}: {_description(entry, settings_of(self._runs, entry))}")
        self._jobs[entry.id] = start_search(
            self._board,
            entry.id,
            run,
            entry.priority,
            lambda folder: self._engine(entry.id, folder),
            self._pool.size,
        )
        return True

    def _engine(self, name: str, folder: RunFolder) -> FarmEngine:
        return FarmEngine(
            self._board, name, folder, chains_per_task=self._pool.chains_per_task, tasks_ahead=self._pool.size
        )

    @undivided()
    def _reap(self) -> None:
        """Record in the queue which searches have ended."""
        for name in [name for name, job in self._jobs.items() if job.has_ended]:
            job = self._jobs.pop(name)
            self._status_writer.finish(job)
            self._record_outcome(name, job)

    def _record_outcome(self, name: str, job: RunningSearch) -> None:
        match job.error:
            case None:
                self._finish(name, job.run)
            case Dropped():
                self._release(name)
            case RunInUse() as error:
                self._postpone(name, error)
            case DiskFullError() as error:  # the next query would fail as well
                self._release(name)
                if not self._is_stopping:
                    raise error
            case TrexError() as error:
                self._fail(name, str(error))
            case error:
                self._fail(name, f"{type(error).__name__}: {error}")

    def _finish(self, name: str, run: Path) -> None:
        if self._end(lambda: queue.finish(self._runs, name, self.owner, self._now())):
            self._done += 1
            self._say(f"{run}: done")

    def _fail(self, name: str, why: str) -> None:
        if self._end(lambda: queue.fail(self._runs, name, self.owner, self._now(), why)):
            self._failed += 1
            self._say(f"{name}: failed: {why}")

    def _postpone(self, name: str, error: RunInUse) -> None:
        """Release the entry and retry later: a process suspended beyond its lease still holds the run's lock."""
        seconds = self._lease_s / RENEWALS
        self._postponed[name] = self._now() + seconds
        self._say(f"{name}: released, will be retried in {seconds:.0f} s: {error}")
        self._release(name)

    def _release(self, name: str) -> None:
        self._end(lambda: queue.release(self._runs, name, self.owner))

    def _end(self, change: Callable[[], Entry]) -> bool:
        """Whether the queue accepted the change; False if the entry was cancelled or claimed elsewhere meanwhile."""
        try:
            change()
        except RunError as error:
            if not self._is_stopping and not isinstance(error, queue.LeaseLost):
                raise
            log.warning("%s", error)
            return False
        return True

    def _stop(self) -> None:
        """Discard open tasks, end the searches, release the leases."""
        self._is_stopping = True
        self._scheduler.is_open = False
        for name in self._jobs:
            self._board.end(name, Dropped())
        self._pool.close()
        for job in self._jobs.values():
            if job.thread is not None:
                job.thread.join()
        self._reap()
        self._status_writer.close()


def begin_queue(runs: Path) -> None:
    """Create an empty queue if nothing was ever queued; QueueMissing if run folders show that something was."""
    if has_queue(runs) or queued_folders(runs):
        check_queue(runs)
        return
    with transaction(runs):
        log.debug("created an empty queue in %s", runs)


def _description(entry: Entry, settings: str) -> str:
    query = " ".join(word for word in (entry.question or entry.source, settings) if word)
    again = f", attempt {entry.attempts}" if entry.attempts > 1 else ""
    return f"{query} (priority {entry.priority}{again})"


def run_work(runs: Path, pool: Pool, display: Display, lease_s: float, *, until_empty: bool) -> WorkOutcome:
    """Run the queue; if stopped by Ctrl-C or SIGTERM, prints how to resume."""
    resume = f"trex queue run --runs {quoted(runs)}"
    stopped = f"stopped; every draw is kept and the queries are queued again. Resume: {resume}"

    def show(jobs: Collection[RunningSearch], done: int, failed: int) -> None:
        if jobs:
            running = [_progress(job) for job in list(jobs)[:SHOWN]]
            number = len(jobs) - SHOWN
            more = [f"and {counted(number, 'more query', 'more queries')}"] if number > 0 else []
            failures = [f"{failed} failed"] if failed else []
            display.show("queries ended:", done + failed, None, *failures, *running, *more)

    with stoppable(lambda: [stopped]):
        return Farm(runs, pool, display.say, lease_s).run(until_empty=until_empty, show=show)


def make_pool(runs: Path, workers: int | None, address: str | None, gpus: float, temp: Path | None) -> Pool:
    """The pool of `workers` Ray workers (None: this process), at `address` (None: this machine only).

    InputError if nothing answers at the address.
    """
    check_free(runs, "--runs")
    if workers is None:
        return LocalPool(Worker(worker_log(runs, "here")))
    from trex.farm.workers.ray_cluster import Cluster, import_ray
    from trex.farm.workers.ray_pool import RayPool

    cluster = Cluster(address, workers, temp)
    import_ray(is_local=cluster.is_local)
    return RayPool(runs, workers, cluster, gpus)


def _progress(job: RunningSearch) -> str:
    status = job.progress.status
    if status is None:
        return f"{job.run.name}: starting"
    return f"{job.run.name}: {PHASES.get(status.phase, status.phase)} {status.done}/{status.total}"
