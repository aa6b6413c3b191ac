"""Workers as Ray actors, on this machine or on a cluster. Ray carries out; nothing that must survive is left to it."""

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

CHECK_S = 2.0  # between two looks at the head
HEAD_GONE_S = 40.0  # so long the head of a cluster may be away; after 60 s Ray ends this process
HEAD_GONE = (
    f"the head of the Ray cluster has not answered for {HEAD_GONE_S:g} s; every draw is kept: start it again, then "
    "give trex work again"
)
START_FAILURES = 5  # in a row, of workers that end before they are there
PATIENCE_S = 30.0  # before it is said that workers are missing
log = logging.getLogger(__name__)


@dataclass
class Place:
    """One of the pool's workers: its actor now, and how many it has had before."""

    number: int
    actor: Any
    restarts: int

    @property
    def name(self) -> str:
        """A new one for each actor."""
        return f"{self.number}-{self.restarts}"


class RayPool:
    """`size` actors of one core and `gpus` of a GPU each; a lost one is replaced."""

    together = 1

    def __init__(self, runs: Path, size: int, cluster: Cluster, gpus: float = 0.0) -> None:
        self._runs, self.size, self._cluster, self._gpus = runs.resolve(), size, cluster, gpus
        self._places: dict[str, Place] = {}
        self._gone: SimpleQueue[Place] = SimpleQueue()
        self._unfit: set[int] = set()  # places whose worker was refused: another one would be too
        self._here = identity()
        self._failures = 0  # to start, in a row
        self._checked = self._began = self._seen = 0.0
        self._joined: set[int] = set()  # places that have had a worker
        self._is_closed = self._has_told = False

    def start(self, inbox: Inbox) -> None:
        """See `Pool`; RunError where Ray does not come up."""
        self._inbox = inbox
        self._cluster.connect()
        self._began = self._seen = time.monotonic()
        for number in range(self.size):
            self._bring_up(number, 0)

    def submit(self, worker: str, ticket: Task) -> None:
        """See `Pool`."""
        place = self._places.get(worker)
        if place is None:  # gone with Ray's head; that is in the inbox already, and gives the work back
            return
        ref = place.actor.do.remote(ticket.work)
        ref.future().add_done_callback(lambda future: self._answered(worker, ticket, future))

    def check(self) -> None:
        """Whether the head is there: a local one is started anew, another one is waited for."""
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
        """See `Pool`."""
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
        """From a thread of Ray's: a new worker is there, or is not."""
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
        """From a thread of Ray's: a worker has answered, or is gone."""
        from ray.exceptions import RayTaskError

        error = future.exception()
        if error is None:
            self._inbox.put(Answered(name, ticket, future.result()))
        elif isinstance(error, RayTaskError):
            self._inbox.put(Answered(name, ticket, TaskFailure("failed", str(error.cause or error))))
        elif (place := self._places.get(name)) is not None:
            self._lost(place, error)

    def _lost(self, place: Place, error: BaseException) -> None:
        """Told at once; replaced by `check`, since Ray is not to be called from its own threads."""
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
        """Ray's head on this machine is gone, and all workers with it."""
        log.error("Ray's head is gone; starting Ray again, nothing is lost")
        places = self._take_places()
        for place in places:
            self._inbox.put(Lost(place.name, "Ray's head is gone"))
        self._cluster.disconnect()
        self._cluster.connect()
        for place in places:
            self._bring_up(place.number, place.restarts + 1)

    def _take_places(self) -> list[Place]:
        """All of them, which are then gone; a thread of Ray's may take one out at any moment."""
        places = list(self._places.values())
        self._places = {}
        return places

    def _tell_of_missing(self, now: float) -> None:
        """Ray waits for ever where the cluster is too small."""
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
