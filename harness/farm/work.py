"""`trex work`: claims queries, lets workers carry them out, and gives each back done, failed or released."""

from __future__ import annotations

import logging
import os
import platform
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from foundation.errors import RunError, TrexError
from harness.farm import queue
from harness.farm.desk import Desk
from harness.farm.engine import FarmEngine
from harness.farm.jobs import Dropped, Job, begin_job
from harness.farm.pool import Inbox, Pool, Woken
from harness.farm.queue_entry import OPEN, Entry, run_path
from harness.farm.scheduler import Scheduler
from harness.farm.telling import Telling
from harness.run_folder import RunFolder
from harness.stopping import undivided

LEASE_S = 30.0  # after so long without a sign of life another `trex work` takes over
TURN_S = 0.1
BEAT_S = 0.5  # between two looks at the queue
BEATS = 5  # heartbeats within a lease
log = logging.getLogger(__name__)
Say = Callable[[str], None]


@dataclass(frozen=True)
class Ended:
    """What a `trex work` has done with its queries."""

    done: int = 0
    failed: int = 0


class Farm:
    """One `trex work`: as many queries at once as its workers need, each leased from the queue."""

    def __init__(self, runs: Path, pool: Pool, say: Say, lease_s: float = LEASE_S) -> None:
        self._runs, self._pool, self._say, self._lease_s = runs, pool, say, lease_s
        self.owner = f"{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._inbox = Inbox()
        self._desk = Desk(lambda: self._inbox.put(Woken()))
        self._scheduler = Scheduler(self._desk, pool, self._inbox)
        self._jobs: dict[str, Job] = {}
        self._done = self._failed = 0
        self._is_empty = False
        self._next_beat = self._next_lease = 0.0
        self._telling = Telling(runs, self.owner)

    def run(self, *, until_empty: bool) -> Ended:
        """Work until nothing is queued and nothing runs, or for ever; KeyboardInterrupt stops it in order."""
        try:
            self._pool.start(self._inbox)
            while not (until_empty and self._is_empty):
                self._scheduler.turn(TURN_S)
                self._reap()
                self._beat()
            return Ended(self._done, self._failed)
        finally:
            self._stop()

    def _beat(self) -> None:
        """Every half second: renew leases, see who was cancelled, claim, check the pool, tell."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT_S
        if now >= self._next_lease:
            self._next_lease = now + self._lease_s / BEATS
            self._renew()
        self._follow()
        while len(self._jobs) < self._most() and self._claim():
            pass
        self._is_empty = not self._jobs and not queue.entries(self._runs, OPEN, limit=1)
        self._pool.check()
        self._telling.tell(self._scheduler, self._jobs)

    def _most(self) -> int:
        """So many queries at once keep every worker busy, also where each has but one chain."""
        return max(2, self._pool.size)

    def _renew(self) -> None:
        held = queue.heartbeat(self._runs, list(self._jobs), self.owner, time.time(), self._lease_s)
        for name in self._jobs.keys() - held:
            self._desk.end(name, Dropped())

    def _follow(self) -> None:
        """Cancelled entries end, changed priorities count, from the next segment on."""
        entries = {entry.id: entry for entry in queue.entries(self._runs, ["running"])}
        for name in self._jobs:
            entry = entries.get(name)
            if entry is None or entry.owner != self.owner:
                self._desk.end(name, Dropped())
            else:
                self._desk.set_priority(name, entry.priority)

    @undivided()  # the queue and this process have to agree on what is whose
    def _claim(self) -> bool:
        entry = queue.claim(self._runs, self.owner, time.time(), self._lease_s)
        if entry is None:
            return False
        if entry.id in self._jobs:  # its lease ran out while this process slept, and it is claimed again
            return True
        try:
            run = run_path(self._runs, entry)
        except RunError as error:
            self._fail(entry.id, str(error))
            return True
        self._say(f"{run}: {_words(entry)}")
        self._jobs[entry.id] = begin_job(
            self._desk, entry.id, run, entry.priority, lambda folder: self._engine(entry.id, folder)
        )
        return True

    def _engine(self, name: str, folder: RunFolder) -> FarmEngine:
        return FarmEngine(self._desk, name, folder, together=self._pool.together, spread=self._pool.size)

    @undivided()
    def _reap(self) -> None:
        """Tell the queue of the searches that have ended."""
        for name in [name for name, job in self._jobs.items() if job.has_ended]:
            job = self._jobs.pop(name)
            self._telling.forget(job)
            if job.error is None:
                self._end(lambda name=name: queue.finish(self._runs, name, self.owner, time.time()))  # type: ignore[misc]
                self._done += 1
                self._say(f"{job.run}: done")
            elif not isinstance(job.error, Dropped):
                ours = isinstance(job.error, TrexError)
                self._fail(name, str(job.error) if ours else f"{type(job.error).__name__}: {job.error}")

    def _fail(self, name: str, why: str) -> None:
        self._failed += 1
        self._say(f"{name}: failed: {why}")
        self._end(lambda: queue.fail(self._runs, name, self.owner, time.time(), why))

    def _end(self, change: Callable[[], Entry]) -> None:
        try:
            change()
        except queue.LeaseLost as error:  # cancelled or taken over in this very moment
            log.warning("%s", error)

    def _stop(self) -> None:
        """Drop what is out, end the searches where they are, give the leases back."""
        self._scheduler.is_open = False
        for name in self._jobs:
            self._desk.end(name, Dropped())
        self._pool.close()
        for name, job in self._jobs.items():
            if job.thread is not None:
                job.thread.join()
            if isinstance(job.error, Dropped):
                self._end(lambda name=name: queue.release(self._runs, name, self.owner))  # type: ignore[misc]
        self._reap()
        self._telling.close()


def _words(entry: Entry) -> str:
    again = f", attempt {entry.attempts}" if entry.attempts > 1 else ""
    return f"{entry.question or entry.source} (priority {entry.priority}{again})"
