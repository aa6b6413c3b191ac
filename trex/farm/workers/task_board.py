"""The task board: searches add tasks and wait for results, the scheduler takes them; all that their threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field

from trex.farm.workers.tasks import AuditUnit, RenderScenes, TaskResult, Work


@dataclass(eq=False)
class Task:
    """A task on its way through the farm: its job, and its failures so far."""

    job: str
    work: Work
    generation: int  # of its job's tasks: a withdrawal discards all earlier generations
    failures: list[str] = field(default_factory=list)
    losses: int = 0


@dataclass
class SearchTasks:
    """The tasks of one running search, in order of `number` among equal priorities."""

    priority: int
    number: int
    generation: int = 0
    waiting: list[Task] = field(default_factory=list)
    results: list[tuple[Work, TaskResult]] = field(default_factory=list)
    end: Exception | None = None


class TaskBoard:
    """Tasks by job; calls `wake` after tasks were added."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._jobs: dict[str, SearchTasks] = {}
        self._changed = threading.Condition()
        self._wake = wake
        self._opened = 0

    # Called from the thread of a search.

    def open(self, job: str, priority: int) -> None:
        """Register a search."""
        with self._changed:
            self._opened += 1
            self._jobs[job] = SearchTasks(priority, self._opened)

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
            search = self._jobs[job]
            search.waiting += [Task(job, work, search.generation) for work in works]
        self._wake()

    def wait(self, job: str) -> list[tuple[Work, TaskResult]]:
        """Wait for results since the last call, at least one; raises the error that ended the job."""
        with self._changed:
            search = self._jobs[job]
            self._changed.wait_for(lambda: search.results or search.end)
            self.check(job)
            results, search.results = search.results, []
            return results

    def check(self, job: str) -> None:
        """Raise the error that ended the job, if it has ended."""
        with self._changed:
            if (end := self._jobs[job].end) is not None:
                raise end

    def in_order(self, job: str, works: Sequence[AuditUnit | RenderScenes]) -> Iterator[TaskResult]:
        """The results of numbered tasks in their order; they may arrive late, twice and in any order.

        Discards the job's earlier tasks, of which late results may come.
        """
        self.withdraw(job)
        self.put(job, works)
        arrived: dict[int, TaskResult] = {}
        for at in range(len(works)):
            while at not in arrived:
                for work, result in self.wait(job):
                    assert isinstance(work, AuditUnit | RenderScenes)
                    arrived[work.at] = result
            yield arrived.pop(at)

    def withdraw(self, job: str) -> None:
        """Discard all tasks added so far."""
        with self._changed:
            search = self._jobs[job]
            search.generation += 1
            search.waiting, search.results = [], []

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
            _, job = min(open_jobs, key=lambda pair: (-pair[1].priority, pair[0] != last, pair[1].number))
            return job.waiting.pop(0)

    def is_needed(self, task: Task) -> bool:
        """Whether a search still needs the task's result."""
        with self._changed:
            job = self._jobs.get(task.job)
            return job is not None and job.end is None and job.generation == task.generation

    def give_back(self, task: Task) -> None:
        """Return an unfinished task to the board, ahead of its job's other tasks."""
        with self._changed:
            job = self._jobs.get(task.job)
            if job is not None and job.generation == task.generation:
                job.waiting.insert(0, task)

    def deliver(self, task: Task, results: TaskResult) -> None:
        """Hand a task's result to its search."""
        with self._changed:
            job = self._jobs.get(task.job)
            if job is not None and job.generation == task.generation:
                job.results.append((task.work, results))
                self._changed.notify_all()

    def end(self, job: str, error: Exception) -> None:
        """End the job's search with this error at its next wait or check; its remaining results are ignored."""
        with self._changed:
            search = self._jobs.get(job)
            if search is not None and search.end is None:
                search.end = error
                search.waiting = []
                self._changed.notify_all()

    def set_priority(self, job: str, priority: int) -> None:
        """Change the job's priority; it applies from the next task on."""
        with self._changed:
            if job in self._jobs:
                self._jobs[job].priority = priority

    def opening(self, job: str) -> int:
        """Which opening of a search this job's is, counted over all jobs; 0 if it is not open."""
        with self._changed:
            search = self._jobs.get(job)
            return 0 if search is None else search.number

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of the open jobs."""
        with self._changed:
            return tuple(self._jobs)
