"""Workers as Ray actors, on this machine or on a cluster. Ray only runs them; no durable state is left to it."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from trex.farm.ray_cluster import Cluster
from trex.farm.ray_worker import Hello
from trex.foundation.errors import RunError
from trex.workers.pool import Answered, Broken, Inbox, Joined, Lost, Unfit
from trex.workers.task_board import Task
from trex.workers.task_result import Answer, TaskFailure, differences, identity

CHECK_S = 2.0  # between two checks of the head
HEAD_GONE_S = 40.0  # allowed absence of a cluster's head; after 60 s Ray ends this process
HEAD_GONE = (
    f"the head of the Ray cluster has not answered for {HEAD_GONE_S:g} s; every draw is kept: start it again, then "
    "give trex work again"
)
START_FAILURES = 5  # consecutive workers that end before they are ready
PATIENCE_S = 30.0  # before a warning that workers are missing
log = logging.getLogger(__name__)


@dataclass
class Place:
    """One place in the pool: its present actor, and the number of its predecessors."""

    number: int
    actor: Any
    restarts: int

    @property
    def name(self) -> str:
        """The worker's name, a new one for each actor."""
        return f"{self.number}-{self.restarts}"


class RayPool:
    """`size` actors with one core and `gpus` GPUs each; replaces lost ones."""

    together = 1

    def __init__(self, runs: Path, size: int, cluster: Cluster, gpus: float = 0.0) -> None:
        self._runs, self.size, self._cluster, self._gpus = runs.resolve(), size, cluster, gpus
        self._places: dict[str, Place] = {}
        self._gone: SimpleQueue[Place] = SimpleQueue()
        self._unfit: set[int] = set()  # places whose worker was refused; another one would be refused too
        self._here = identity()
        self._failures = 0  # consecutive failures to start
        self._checked = self._began = self._seen = 0.0
        self._joined: set[int] = set()  # places that have had a worker
        self._is_closed = self._has_told = False

    def start(self, inbox: Inbox) -> None:
        """Start the actors; RunError if Ray does not come up."""
        self._inbox = inbox
        self._cluster.connect()
        self._began = self._seen = time.monotonic()
        for number in range(self.size):
            self._bring_up(number, 0)

    def submit(self, worker: str, ticket: Task) -> None:
        """Send a task to a waiting actor."""
        place = self._places.get(worker)
        if place is None:  # lost with Ray's head; the inbox already has the event that returns the task
            return
        ref = place.actor.do.remote(ticket.work)
        ref.future().add_done_callback(lambda future: self._answered(worker, ticket, future))

    def check(self) -> None:
        """Check the head: restart a local one, wait for a remote one."""
        self._replace_lost()
        now = time.monotonic()
        if now - self._checked < CHECK_S:
            return
        self._checked = now
        if self._cluster.is_alive():
            self._seen = now
            self._tell_of_missing(now)
        elif self._cluster.is_local:
            self._begin_anew()
        elif now - self._seen > HEAD_GONE_S:
            self._inbox.put(Broken(RunError(HEAD_GONE)))

    def close(self) -> None:
        """End all actors and disconnect."""
        self._is_closed = True
        for place in self._take_places():
            self._cluster.end_worker(place.actor)
        self._cluster.disconnect()

    def _bring_up(self, number: int, restarts: int) -> None:
        name = f"{number}-{restarts}"
        actor = self._cluster.start_worker(self._runs, name, self._gpus)
        place = self._places[name] = Place(number, actor, restarts)
        actor.hello.remote().future().add_done_callback(lambda future: self._greeted(place, future))

    def _greeted(self, place: Place, future: Future[Hello]) -> None:
        """Called in one of Ray's threads: a new worker is ready, or has failed to start."""
        if self._places.get(place.name) is not place or self._is_closed:
            return
        error = future.exception()
        if error is not None:
            self._failures += 1
            self._lost(place, error)
            return
        hello, self._failures = future.result(), 0
        self._joined.add(place.number)
        differ = differences(self._here, hello.identity)
        if differ:
            self._inbox.put(Unfit(place.name, f"on {hello.host}, {differ}; install the same version there"))
            self._unfit.add(place.number)
            self._gone.put(place)
        else:
            self._inbox.put(Joined(place.name, hello.host, hello.pid, place.restarts))

    def _answered(self, name: str, ticket: Task, future: Future[Answer]) -> None:
        """Called in one of Ray's threads: a worker has answered, or died."""
        from ray.exceptions import RayTaskError

        error = future.exception()
        if error is None:
            self._inbox.put(Answered(name, ticket, future.result()))
        elif isinstance(error, RayTaskError):
            self._inbox.put(Answered(name, ticket, TaskFailure("failed", str(error.cause or error))))
        elif (place := self._places.get(name)) is not None:
            self._lost(place, error)

    def _lost(self, place: Place, error: BaseException) -> None:
        """Report the loss now and let `check` replace the actor, since Ray must not be called from its own threads."""
        if self._places.pop(place.name, None) is place and not self._is_closed:
            self._inbox.put(Lost(place.name, str(error).partition("\n")[0]))
            self._gone.put(place)

    def _replace_lost(self) -> None:
        while not self._gone.empty():
            place = self._gone.get()
            self._cluster.end_worker(place.actor)
            if self._failures >= START_FAILURES:
                raise RunError(
                    f"{START_FAILURES} workers in a row ended before they were there; see Ray's logs"
                )
            if place.number not in self._unfit:
                self._bring_up(place.number, place.restarts + 1)

    def _begin_anew(self) -> None:
        """Restart Ray on this machine after its head, and all workers with it, died."""
        log.error("Ray's head is gone; starting Ray again, nothing is lost")
        places = self._take_places()
        for place in places:
            self._inbox.put(Lost(place.name, "Ray's head is gone"))
        self._cluster.disconnect()
        self._cluster.connect()
        for place in places:
            self._bring_up(place.number, place.restarts + 1)

    def _take_places(self) -> list[Place]:
        """Empty the table of places and return them; one of Ray's threads may remove one at any moment."""
        places = list(self._places.values())
        self._places = {}
        return places

    def _tell_of_missing(self, now: float) -> None:
        """Warn about missing workers: Ray waits for ever if the cluster is too small."""
        if self._has_told or len(self._joined) >= self.size or now - self._began < PATIENCE_S:
            return
        import ray

        self._has_told = True
        resources: dict[str, float] = ray.cluster_resources()
        free = {name: resources.get(name, 0) for name in ("CPU", "GPU")}
        log.warning(
            "not all of %d workers have come up; each needs 1 CPU and %g GPU, the cluster has %s",
            self.size,
            self._gpus,
            free,
        )
