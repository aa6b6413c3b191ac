"""Pools of workers: their protocol, the events that they report, and the pool of one worker in this process."""

from __future__ import annotations

import os
import platform
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from trex.farm.workers.task_board import Task
from trex.farm.workers.tasks import ALL, Answer, FailureKind, TaskFailure
from trex.farm.workers.worker import Worker


@dataclass(frozen=True)
class Joined:
    """A worker has started and is idle; `restarts` counts its predecessors in the same place."""

    worker: str
    host: str
    pid: int
    restarts: int = 0


@dataclass(frozen=True)
class Answered:
    """A worker has finished a task, or reports why it failed; it is idle again."""

    worker: str
    task: Task
    answer: Answer


@dataclass(frozen=True)
class Lost:
    """A worker has died with its task; its pool replaces it."""

    worker: str
    why: str


@dataclass(frozen=True)
class IncompatibleVersion:
    """A worker has other software versions than this process and gets no tasks."""

    worker: str
    why: str


@dataclass(frozen=True)
class PoolFailed:
    """The pool can no longer provide workers."""

    error: Exception


@dataclass(frozen=True)
class WorkAdded:
    """Tasks were added to the board."""


Event = Joined | Answered | Lost | IncompatibleVersion | PoolFailed | WorkAdded
Inbox = SimpleQueue[Event]


class Pool(Protocol):
    """Workers, local or remote; reports events to an inbox, from any thread."""

    @property
    def chains_per_task(self) -> int:
        """The number of chains that a worker steps at once."""
        ...

    @property
    def size(self) -> int:
        """The number of workers, including those still starting."""
        ...

    def start(self, inbox: Inbox) -> None:
        """Start the workers; each is reported to `inbox` when it is ready."""
        ...

    def submit(self, worker: str, task: Task) -> None:
        """Give an idle worker a task."""
        ...

    def check(self) -> None:
        """Check the workers' health; called about once a second."""
        ...

    def close(self) -> None:
        """End all workers at once; their current tasks are dropped."""
        ...


NAME = "here"


class LocalPool:
    """Runs in a thread of its own, so that leases are renewed during a render; steps all chains of a query at once."""

    chains_per_task = ALL
    size = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._work: SimpleQueue[Task | None] = SimpleQueue()
        self._is_stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, inbox: Inbox) -> None:
        """Start the thread; reports `Joined` once it waits for work."""
        self._thread = threading.Thread(target=self._run, args=(inbox,), name="worker", daemon=True)
        self._thread.start()
        inbox.put(Joined(NAME, platform.node(), os.getpid()))

    def submit(self, worker: str, task: Task) -> None:
        """Give the thread a task."""
        assert worker == NAME
        self._work.put(task)

    def check(self) -> None:
        """Does nothing: a thread lives as long as its process."""

    def close(self) -> None:
        """Stop after the current render."""
        self._is_stopped.set()
        self._work.put(None)
        if self._thread is not None:
            self._thread.join()
        self._worker.close()

    def _run(self, inbox: Inbox) -> None:
        while (task := self._work.get()) is not None:
            if self._is_stopped.is_set():
                answer = TaskFailure(FailureKind.STOPPED, "the farm was stopped")
                inbox.put(Answered(NAME, task, answer))
                continue
            inbox.put(Answered(NAME, task, self._worker.do(task.work, self._is_stopped.is_set)))
