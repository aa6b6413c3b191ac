"""One loop that gives tasks to workers by priority and collects results; knows nothing of what a search does."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from queue import Empty

from trex.farm.workers.pool import (
    Answered,
    Event,
    Inbox,
    IncompatibleVersion,
    Joined,
    Lost,
    Pool,
    PoolFailed,
    WorkAdded,
)
from trex.farm.workers.task_board import Task, TaskBoard
from trex.farm.workers.tasks import Answer, FailureKind, TaskFailure, TaskResult
from trex.foundation.errors import InputError, RenderError, RunError, TrexError
from trex.foundation.files import DiskFullError

MAX_ATTEMPTS = 3  # of a task that ends with an error
MAX_LOSSES = 10  # of workers during one task, before the task counts as failed
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refusal:
    """That a worker cannot run a job, as the board had opened it then (`TaskBoard.opening`), and why."""

    opening: int
    why: str


@dataclass
class WorkerSlot:
    """The scheduler's view of a worker, and its statistics."""

    name: str
    host: str
    pid: int
    restarts: int = 0
    task: Task | None = None
    last_job: str = ""  # its last job, whose world it has open
    refused: dict[str, Refusal] = field(default_factory=dict)  # by job
    tasks_done: int = 0
    renders: int = 0
    memory_mib: float = 0.0
    seen: float = field(default_factory=time.time)


class Scheduler:
    """Hands out the tasks on the board. A worker does one task at a time; a lost worker's task goes to another."""

    def __init__(self, board: TaskBoard, pool: Pool, inbox: Inbox) -> None:
        self._board, self._pool, self._inbox = board, pool, inbox
        self.slots: dict[str, WorkerSlot] = {}
        self.lost = 0  # tasks whose worker was lost
        self.incompatible: set[str] = set()  # workers
        self.is_open = True  # False: hands out nothing more

    def turn(self, timeout_s: float) -> None:
        """Hand out all possible tasks, then process the events that have arrived, waiting `timeout_s` at most."""
        self.hand_out()
        try:
            self.handle(self._inbox.get(timeout=timeout_s) if timeout_s else self._inbox.get_nowait())
            while True:
                self.handle(self._inbox.get_nowait())
        except Empty:
            return

    def hand_out(self) -> None:
        """Give each idle worker the next task."""
        if not self.is_open:
            return
        for slot in self.slots.values():
            slot.refused = {
                job: refusal
                for job, refusal in slot.refused.items()
                if self._board.opening(job) == refusal.opening  # a job that is retried gets another chance
            }
            if slot.task is None:
                task = self._board.take(slot.last_job, slot.refused)
                if task is not None:
                    slot.task, slot.last_job = task, task.job
                    self._pool.submit(slot.name, task)

    def handle(self, event: Event) -> None:
        """Process one event."""
        match event:
            case Joined(name, host, pid, restarts):
                self.slots[name] = WorkerSlot(name, host, pid, restarts)
            case Answered(name, task, answer):
                self._answered(name, task, answer)
            case Lost(name, why):
                self._lost(name, why)
            case IncompatibleVersion(name, why):
                self._incompatible(name, why)
            case PoolFailed(error):
                raise error
            case WorkAdded():
                pass

    @property
    def busy(self) -> dict[str, int]:
        """The number of workers on each job."""
        found: dict[str, int] = defaultdict(int)
        for slot in self.slots.values():
            if slot.task is not None:
                found[slot.task.job] += 1
        return found

    def _answered(self, name: str, task: Task, answer: Answer) -> None:
        slot = self.slots.get(name)
        is_current = slot is not None and slot.task is task
        if slot is not None and is_current:
            slot.task, slot.seen = None, time.time()
        if isinstance(answer, TaskResult):
            self._board.deliver(task, answer)  # may be a late answer; the search ignores repeated ones
            if slot is not None and is_current:
                slot.tasks_done += 1
                slot.renders += answer.renders
                slot.memory_mib = answer.memory_mib
        elif slot is not None and is_current and self._board.is_needed(task):
            self._task_failed(slot, task, answer)

    def _task_failed(self, slot: WorkerSlot, task: Task, failure: TaskFailure) -> None:
        match failure.kind:
            case FailureKind.STOPPED:
                self._board.give_back(task)
            case FailureKind.INVALID_QUERY:
                self._board.end(task.job, InputError(failure.why))
            case FailureKind.INCOMPATIBLE:
                slot.refused[task.job] = Refusal(self._board.opening(task.job), failure.why)
                log.warning("worker %s gets no more tasks of %s: %s", slot.name, task.job, failure.why)
                self._board.give_back(task)
                self._check_any_worker_left(task.job)
            case FailureKind.ERROR:
                self._retry(task, failure.why, RenderError)
            case FailureKind.DISK_FULL:
                self._retry(task, failure.why, DiskFullError)

    def _retry(self, task: Task, why: str, error: type[TrexError]) -> None:
        """Return the task to the board, or end its job with this kind of error if it has failed too often."""
        task.failures.append(why)
        if len(task.failures) < MAX_ATTEMPTS:
            log.warning("a task of %s failed and will be retried: %s", task.job, why)
            self._board.give_back(task)
            return
        reasons = "; then: ".join(dict.fromkeys(task.failures))
        self._board.end(task.job, error(f"a task failed {MAX_ATTEMPTS} times: {reasons}"))

    def _check_any_worker_left(self, job: str) -> None:
        """End the job if all workers have started and each one has refused it, with one of their reasons."""
        are_all_here = len(self.slots) + len(self.incompatible) >= self._pool.size
        opening = self._board.opening(job)
        refusals = [slot.refused.get(job) for slot in self.slots.values()]
        reasons = [refusal.why for refusal in refusals if refusal and refusal.opening == opening]
        if are_all_here and reasons and len(reasons) == len(refusals):
            self._board.end(job, RunError(f"no worker can run it: {reasons[-1]}"))

    def _lost(self, name: str, why: str) -> None:
        slot = self.slots.pop(name, None)
        if slot is None or slot.task is None:
            return
        task, self.lost = slot.task, self.lost + 1
        task.losses += 1
        log.warning("worker %s is lost (%s); its task of %s will be repeated", name, why, task.job)
        if task.losses < MAX_LOSSES:
            self._board.give_back(task)
            return
        self._board.end(
            task.job, RenderError(f"{MAX_LOSSES} workers were lost during the same task, the last one: {why}")
        )

    def _incompatible(self, name: str, why: str) -> None:
        log.error("worker %s is incompatible and gets no tasks: %s", name, why)
        self.incompatible.add(name)
        if len(self.incompatible) >= self._pool.size and not self.slots:
            raise RunError(f"no worker is compatible: {why}")
        for job in self._board.jobs:  # it may have been the last one that a job was waiting for
            self._check_any_worker_left(job)
