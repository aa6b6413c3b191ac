"""One loop that gives tasks to workers by priority and collects results; it decides nothing about a search."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass, field
from queue import Empty

from trex.foundation.errors import InputError, RenderError, RunError
from trex.workers.pool import Answered, Broken, Event, Inbox, Joined, Lost, Pool, Unfit, Woken
from trex.workers.task_board import Task, TaskBoard
from trex.workers.task_result import Answer, TaskFailure, TaskResult

ATTEMPTS = 3  # of a task that ends in an error
LOSSES = 10  # workers that one task may take down before it counts as failed
log = logging.getLogger(__name__)


@dataclass
class WorkerSlot:
    """The scheduler's view of a worker, and its statistics."""

    name: str
    host: str
    pid: int
    restarts: int = 0
    doing: Task | None = None
    last: str = ""  # its last job, whose world it has open
    refused: set[str] = field(default_factory=set)  # jobs that it cannot run
    segments: int = 0
    renders: int = 0
    memory_mib: float = 0.0
    seen: float = field(default_factory=time.time)


class Scheduler:
    """Hands out the tasks on the board. A worker does one task at a time; a lost worker's task goes to another."""

    def __init__(self, desk: TaskBoard, pool: Pool, inbox: Inbox) -> None:
        self._desk, self._pool, self._inbox = desk, pool, inbox
        self.hands: dict[str, WorkerSlot] = {}
        self.lost = 0  # tasks whose worker was lost
        self.renders: dict[str, int] = defaultdict(int)  # per job
        self.unfit: dict[str, str] = {}  # reasons by worker
        self.is_open = True  # False: hands out nothing more

    def turn(self, timeout_s: float) -> None:
        """Hand out all possible tasks, then process the events that have arrived, waiting `timeout_s` at most."""
        self.hand_out()
        try:
            self.take_in(self._inbox.get(timeout=timeout_s) if timeout_s else self._inbox.get_nowait())
            while True:
                self.take_in(self._inbox.get_nowait())
        except Empty:
            return

    def hand_out(self) -> None:
        """Give each waiting worker the next task."""
        if not self.is_open:
            return
        for hand in self.hands.values():
            if hand.doing is None:
                ticket = self._desk.take(hand.last, hand.refused)
                if ticket is not None:
                    hand.doing, hand.last = ticket, ticket.job
                    self._pool.submit(hand.name, ticket)

    def take_in(self, event: Event) -> None:
        """Process one event."""
        match event:
            case Joined(name, host, pid, restarts):
                self.hands[name] = WorkerSlot(name, host, pid, restarts)
            case Answered(name, ticket, answer):
                self._answered(name, ticket, answer)
            case Lost(name, why):
                self._lost(name, why)
            case Unfit(name, why):
                self._unfit(name, why)
            case Broken(error):
                raise error
            case Woken():
                pass

    @property
    def busy(self) -> dict[str, int]:
        """The number of workers on each job."""
        found: dict[str, int] = defaultdict(int)
        for hand in self.hands.values():
            if hand.doing is not None:
                found[hand.doing.job] += 1
        return found

    def _answered(self, name: str, ticket: Task, answer: Answer) -> None:
        hand = self.hands.get(name)
        is_new = hand is not None and hand.doing is ticket
        if hand is not None and is_new:
            hand.doing, hand.seen = None, time.time()
        if isinstance(answer, TaskResult):
            self._desk.deliver(ticket, answer)  # may be a late answer; the search takes it once
            if hand is not None and is_new:
                self._count(hand, ticket, answer)
        elif hand is not None and is_new and self._desk.is_wanted(ticket):
            self._not_done(hand, ticket, answer)

    def _count(self, hand: WorkerSlot, ticket: Task, made: TaskResult) -> None:
        self.renders[ticket.job] += made.renders
        hand.segments += 1
        hand.renders += made.renders
        hand.memory_mib = made.memory_mib

    def _not_done(self, hand: WorkerSlot, ticket: Task, trouble: TaskFailure) -> None:
        if trouble.kind == "stopped":
            self._desk.give_back(ticket)
        elif trouble.kind == "asked":
            self._desk.end(ticket.job, InputError(trouble.why))
        elif trouble.kind == "refused":
            hand.refused.add(ticket.job)
            log.warning("worker %s is not used for %s: %s", hand.name, ticket.job, trouble.why)
            self._desk.give_back(ticket)
            self._check_refused(ticket.job, trouble.why)
        else:
            self._failed(ticket, trouble.why)

    def _failed(self, ticket: Task, why: str) -> None:
        ticket.failures.append(why)
        if len(ticket.failures) < ATTEMPTS:
            log.warning("work for %s failed and is tried again: %s", ticket.job, why)
            self._desk.give_back(ticket)
            return
        told = "; then: ".join(dict.fromkeys(ticket.failures))
        self._desk.end(ticket.job, RenderError(f"failed {ATTEMPTS} times: {told}"))

    def _check_refused(self, job: str, why: str) -> None:
        are_all_here = len(self.hands) + len(self.unfit) >= self._pool.size
        if are_all_here and all(job in hand.refused for hand in self.hands.values()):
            self._desk.end(job, RunError(f"no worker can carry it out: {why}"))

    def _lost(self, name: str, why: str) -> None:
        hand = self.hands.pop(name, None)
        if hand is None or hand.doing is None:
            return
        ticket, self.lost = hand.doing, self.lost + 1
        ticket.losses += 1
        log.warning("worker %s is lost (%s); its work for %s is done again", name, why, ticket.job)
        if ticket.losses < LOSSES:
            self._desk.give_back(ticket)
            return
        self._desk.end(
            ticket.job, RenderError(f"{LOSSES} workers were lost over one piece of work, the last: {why}")
        )

    def _unfit(self, name: str, why: str) -> None:
        log.error("worker %s is refused: %s", name, why)
        self.unfit[name] = why
        if len(self.unfit) >= self._pool.size and not self.hands:
            raise RunError(f"no worker can be used: {why}")
