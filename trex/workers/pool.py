"""Workers of one kind behind one small protocol, and the events by which they are heard of."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from trex.workers.task_board import Task
from trex.workers.task_result import Answer


@dataclass(frozen=True)
class Joined:
    """A worker is there and waits for work; `restarts` others have had its place before."""

    worker: str
    host: str
    pid: int
    restarts: int = 0


@dataclass(frozen=True)
class Answered:
    """A worker has done a piece of work, or has said why not; it waits for the next."""

    worker: str
    ticket: Task
    answer: Answer


@dataclass(frozen=True)
class Lost:
    """A worker is gone, with whatever it was doing; its pool sees to another one."""

    worker: str
    why: str


@dataclass(frozen=True)
class Unfit:
    """A worker that has another version of something is not used."""

    worker: str
    why: str


@dataclass(frozen=True)
class Broken:
    """There will be no more workers."""

    error: Exception


@dataclass(frozen=True)
class Woken:
    """There is something new to hand out."""


Event = Joined | Answered | Lost | Unfit | Broken | Woken
Inbox = SimpleQueue[Event]


class Pool(Protocol):
    """Workers, wherever they are. All that happens to them is told to an inbox, from any thread."""

    @property
    def together(self) -> int:
        """How many chains a worker steps at once."""
        ...

    @property
    def size(self) -> int:
        """How many workers there are, or will be."""
        ...

    def start(self, inbox: Inbox) -> None:
        """Bring the workers up; each is told of when it is there."""
        ...

    def submit(self, worker: str, ticket: Task) -> None:
        """Give a waiting worker a piece of work."""
        ...

    def check(self) -> None:
        """Called every second or so: see whether everything still stands."""
        ...

    def close(self) -> None:
        """End all workers, at once; what they were doing is dropped."""
        ...
