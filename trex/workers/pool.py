"""The protocol of a pool of workers, and the events that it reports."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from trex.workers.task_board import Task
from trex.workers.task_result import Answer


@dataclass(frozen=True)
class Joined:
    """A worker has started and waits for work; `restarts` counts its predecessors in the same place."""

    worker: str
    host: str
    pid: int
    restarts: int = 0


@dataclass(frozen=True)
class Answered:
    """A worker has finished a task, or reports why it could not; it waits for the next."""

    worker: str
    ticket: Task
    answer: Answer


@dataclass(frozen=True)
class Lost:
    """A worker has died with its task; its pool replaces it."""

    worker: str
    why: str


@dataclass(frozen=True)
class Unfit:
    """A worker has other versions than this process and is not used."""

    worker: str
    why: str


@dataclass(frozen=True)
class Broken:
    """The pool cannot provide workers any more."""

    error: Exception


@dataclass(frozen=True)
class Woken:
    """There is new work to hand out."""


Event = Joined | Answered | Lost | Unfit | Broken | Woken
Inbox = SimpleQueue[Event]


class Pool(Protocol):
    """Workers, local or remote; reports events to an inbox, from any thread."""

    @property
    def together(self) -> int:
        """The number of chains that a worker steps at once."""
        ...

    @property
    def size(self) -> int:
        """The number of workers, including those still starting."""
        ...

    def start(self, inbox: Inbox) -> None:
        """Start the workers; each is reported to `inbox` when it is ready."""
        ...

    def submit(self, worker: str, ticket: Task) -> None:
        """Give a waiting worker a task."""
        ...

    def check(self) -> None:
        """Check the workers' health; called about once a second."""
        ...

    def close(self) -> None:
        """End all workers at once; their current tasks are dropped."""
        ...
