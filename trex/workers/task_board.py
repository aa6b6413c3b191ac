"""The task board: searches put tasks on it and wait, the scheduler takes them. All that their threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from trex.workers.task_result import TaskResult
from trex.workers.tasks import Work


@dataclass(eq=False)
class Task:
    """A task on its way through the farm: its job, and its failures so far."""

    job: str
    work: Work
    turn: int  # of its job: a withdrawal discards all tasks of earlier turns
    failures: list[str] = field(default_factory=list)
    losses: int = 0


@dataclass
class SearchTasks:
    """One running search."""

    priority: int
    place: int
    turn: int = 0
    is_waiting: bool = False
    waiting: list[Task] = field(default_factory=list)
    made: list[tuple[Work, TaskResult]] = field(default_factory=list)
    end: Exception | None = None


class TaskBoard:
    """Tasks by job; calls `wake` when there is something new to hand out."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._jobs: dict[str, SearchTasks] = {}
        self._changed = threading.Condition()
        self._wake = wake
        self._places = 0

    # Called from the thread of a search.

    def open(self, job: str, priority: int) -> None:
        """Register a search."""
        with self._changed:
            self._places += 1
            self._jobs[job] = SearchTasks(priority, self._places)

    def close(self, job: str) -> None:
        """Unregister a search; results of its remaining tasks are discarded."""
        with self._changed:
            del self._jobs[job]
            self._changed.notify_all()

    def put(self, job: str, works: Sequence[Work]) -> None:
        """Add tasks."""
        if not works:
            return
        with self._changed:
            mine = self._jobs[job]
            mine.waiting += [Task(job, work, mine.turn) for work in works]
        self._wake()

    def wait(self, job: str) -> list[tuple[Work, TaskResult]]:
        """Wait for results since the last call, at least one; raises the error that ended the job."""
        with self._changed:
            mine = self._jobs[job]
            mine.is_waiting = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: mine.made or mine.end)
            mine.is_waiting = False
            if mine.end is not None:
                raise mine.end
            made, mine.made = mine.made, []
            return made

    def withdraw(self, job: str) -> None:
        """Discard all tasks added so far."""
        with self._changed:
            mine = self._jobs[job]
            mine.turn += 1
            mine.waiting, mine.made = [], []

    # Called from the scheduler's thread.

    def take(self, last: str = "", refused: Container[str] = ()) -> Task | None:
        """The next task: by priority, then from the worker's last job, then from the oldest job."""
        with self._changed:
            open_jobs = [
                (name, job)
                for name, job in self._jobs.items()
                if job.waiting and not job.end and name not in refused
            ]
            if not open_jobs:
                return None
            _, job = min(open_jobs, key=lambda pair: (-pair[1].priority, pair[0] != last, pair[1].place))
            return job.waiting.pop(0)

    def is_wanted(self, ticket: Task) -> bool:
        """Whether a search still waits for the task."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            return job is not None and job.end is None and job.turn == ticket.turn

    def give_back(self, ticket: Task) -> None:
        """Return an unfinished task to the board, ahead of its job's other tasks."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            if job is not None and job.turn == ticket.turn:
                job.waiting.insert(0, ticket)

    def deliver(self, ticket: Task, made: TaskResult) -> None:
        """Hand a task's result to its search."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            if job is not None and job.turn == ticket.turn:
                job.made.append((ticket.work, made))
                self._changed.notify_all()

    def end(self, job: str, error: Exception) -> None:
        """End the job's search with this error at its next wait; results of its remaining tasks are ignored."""
        with self._changed:
            mine = self._jobs.get(job)
            if mine is not None and mine.end is None:
                mine.end = error
                mine.waiting = []
                self._changed.notify_all()

    def set_priority(self, job: str, priority: int) -> None:
        """Change the job's priority, from the next task on."""
        with self._changed:
            if job in self._jobs:
                self._jobs[job].priority = priority

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of the open jobs."""
        with self._changed:
            return tuple(self._jobs)

    def wait_until_quiet(self) -> None:
        """Return once every open search waits for missing results; for callers with a clock of their own."""
        with self._changed:
            self._changed.wait_for(
                lambda: all(job.is_waiting and not job.made and not job.end for job in self._jobs.values())
            )
