"""Writes the status of one `trex queue run` and its searches about every second, for viewers, pages and /metrics."""

from __future__ import annotations

import math
import os
import platform
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from trex.farm.status import (
    FarmStatus,
    RunStatus,
    WorkerStatus,
    remove_farm_status,
    write_farm_status,
    write_run_status,
)
from trex.farm.workers.jobs import RunningSearch
from trex.farm.workers.scheduler import Scheduler, WorkerSlot
from trex.farm.workers.worker import memory_mib
from trex.search.progress import Status

EVERY_S = 1.0
WINDOW_S = 30.0  # the time over which rates are averaged
Moments = deque[tuple[float, Status]]  # by a clock that is never set back


class StatusWriter:
    """Writes the files that trex/farm/monitor/status.py defines."""

    def __init__(self, runs: Path, owner: str) -> None:
        self._runs, self._owner = runs, owner
        self._began, self._next = time.time(), -math.inf
        self._moments: dict[str, Moments] = {}

    def write(self, scheduler: Scheduler, jobs: Mapping[str, RunningSearch]) -> None:
        """Rewrite the files, at most once every `EVERY_S` seconds."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY_S
        busy = scheduler.busy
        for job in jobs.values():
            self._write_run(job, busy.get(job.name, 0))
        workers = tuple(_worker(slot) for slot in scheduler.slots.values())
        host = platform.node()
        status = FarmStatus(self._owner, host, os.getpid(), self._began, time.time(), scheduler.lost, workers)
        write_farm_status(self._runs, status)

    def finish(self, job: RunningSearch) -> None:
        """Write the last status of a search that has ended."""
        self._write_run(job, 0)
        self._moments.pop(job.name, None)

    def close(self) -> None:
        """Remove the status of this `trex queue run`."""
        remove_farm_status(self._runs, self._owner)

    def _write_run(self, job: RunningSearch, workers: int) -> None:
        status, now = job.progress.status, time.monotonic()
        if status is None:
            return
        moments = self._moments.setdefault(job.name, deque())
        moments.append((now, status))
        while now - moments[0][0] > WINDOW_S:
            moments.popleft()
        rate, left = rates(moments)
        write_run_status(job.run, RunStatus(status, rate, workers, left, time.time()))


def rates(moments: Moments) -> tuple[float, float | None]:
    """Renders per second, and the most seconds left in the phase at this rate; None if nothing was done."""
    (first, before), (last, now) = moments[0], moments[-1]
    seconds = last - first
    if seconds <= 0.0:
        return 0.0, None
    steps = now.done - before.done if now.phase == before.phase else 0
    left = (now.total - now.done) * seconds / steps if steps > 0 else None
    return max(0, now.renders - before.renders) / seconds, left


def _worker(slot: WorkerSlot) -> WorkerStatus:
    entry = slot.task.job if slot.task is not None else ""
    is_here = slot.host == platform.node()
    memory = memory_mib(slot.pid) if is_here else slot.memory_mib
    return WorkerStatus(
        slot.name, slot.host, entry, slot.tasks_done, slot.renders, slot.restarts, memory, slot.seen
    )
