"""Where searches lay down work and wait for it, and the scheduler finds it: all that their threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from trex.workers.task_result import TaskResult
from trex.workers.tasks import Work


@dataclass(eq=False)
class Task:
    """A piece of work on its way through the farm: whose it is, and what has become of it so far."""

    job: str
    work: Work
    turn: int  # of its job: what was laid down before a withdrawal is not wanted any more
    failures: list[str] = field(default_factory=list)
    losses: int = 0


@dataclass
class SearchTasks:
    """A search that is being carried out."""

    priority: int
    place: int
    turn: int = 0
    is_waiting: bool = False
    waiting: list[Task] = field(default_factory=list)
    made: list[tuple[Work, TaskResult]] = field(default_factory=list)
    end: Exception | None = None


class TaskBoard:
    """Work by job; `wake` is called when there is something new to hand out."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._jobs: dict[str, SearchTasks] = {}
        self._changed = threading.Condition()
        self._wake = wake
        self._places = 0

    # For the thread of a search.

    def open(self, job: str, priority: int) -> None:
        """A search begins."""
        with self._changed:
            self._places += 1
            self._jobs[job] = SearchTasks(priority, self._places)

    def close(self, job: str) -> None:
        """A search has ended; what is still out for it will not be wanted."""
        with self._changed:
            del self._jobs[job]
            self._changed.notify_all()

    def put(self, job: str, works: Sequence[Work]) -> None:
        """Lay down work."""
        if not works:
            return
        with self._changed:
            mine = self._jobs[job]
            mine.waiting += [Task(job, work, mine.turn) for work in works]
        self._wake()

    def wait(self, job: str) -> list[tuple[Work, TaskResult]]:
        """What has been made since the last call, at least one; raises what the job was ended with."""
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
        """Nothing that was laid down so far is wanted any more."""
        with self._changed:
            mine = self._jobs[job]
            mine.turn += 1
            mine.waiting, mine.made = [], []

    # For the thread that hands out.

    def take(self, last: str = "", refused: Container[str] = ()) -> Task | None:
        """The work whose turn it is: by priority, then of the job that the worker did last, then the oldest job's."""
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
        """Whether anyone still waits for it."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            return job is not None and job.end is None and job.turn == ticket.turn

    def give_back(self, ticket: Task) -> None:
        """It was not done: another worker may take it, before all else of its job."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            if job is not None and job.turn == ticket.turn:
                job.waiting.insert(0, ticket)

    def deliver(self, ticket: Task, made: TaskResult) -> None:
        """It is done."""
        with self._changed:
            job = self._jobs.get(ticket.job)
            if job is not None and job.turn == ticket.turn:
                job.made.append((ticket.work, made))
                self._changed.notify_all()

    def end(self, job: str, error: Exception) -> None:
        """Its search is to end with this error, as soon as it waits; what is out for it is let pass."""
        with self._changed:
            mine = self._jobs.get(job)
            if mine is not None and mine.end is None:
                mine.end = error
                mine.waiting = []
                self._changed.notify_all()

    def set_priority(self, job: str, priority: int) -> None:
        """From the next piece of work on."""
        with self._changed:
            if job in self._jobs:
                self._jobs[job].priority = priority

    @property
    def jobs(self) -> tuple[str, ...]:
        """The searches that are open."""
        with self._changed:
            return tuple(self._jobs)

    def wait_until_quiet(self) -> None:
        """Return when every open search waits for work that is not there yet; for whoever keeps the time itself."""
        with self._changed:
            self._changed.wait_for(
                lambda: all(job.is_waiting and not job.made and not job.end for job in self._jobs.values())
            )
