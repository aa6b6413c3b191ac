"""The protocol of a pool of workers, and the events that it reports."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from trex.workers.task_board import Task
from trex.workers.task_result import Answer


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
