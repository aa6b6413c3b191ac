"""Workers as Ray actors, on this machine or on a cluster. Ray runs them and holds no durable state."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from trex.farm.workers.identity import differences, identity
from trex.farm.workers.pool import Answered, Inbox, IncompatibleVersion, Joined, Lost, PoolFailed
from trex.farm.workers.ray_cluster import Cluster, Hello
from trex.farm.workers.task_board import Task
from trex.farm.workers.tasks import Answer, FailureKind, TaskFailure
from trex.foundation.errors import RunError

CHECK_S = 2.0  # between two checks of the head
HEAD_GONE_S = 40.0  # without an answer of a cluster's head; after 60 s Ray ends this process
HEAD_GONE = (
    f"the head of the Ray cluster has not answered for {HEAD_GONE_S:g} s; every draw is kept: restart the head, then "
    "run trex queue run again"
)
MAX_START_FAILURES = 5  # consecutive workers that end before they are ready
WARN_AFTER_S = 30.0  # before a warning that workers are missing
log = logging.getLogger(__name__)


@dataclass
class Place:
    """One place in the pool: its present actor, and the number of its predecessors."""

    number: int
    actor: Any
    restarts: int

    @property
    def name(self) -> str:
        """The worker's name, a new one for each actor; `WorkerStatus.place` takes it apart."""
        return f"{self.number}-{self.restarts}"


class RayPool:
    """`size` actors with one core and `gpus` GPUs each; replaces lost ones."""

    chains_per_task = 1

    def __init__(self, runs: Path, size: int, cluster: Cluster, gpus: float = 0.0) -> None:
        self._runs, self.size, self._cluster, self._gpus = runs.resolve(), size, cluster, gpus
        self._places: dict[str, Place] = {}
        self._to_replace: SimpleQueue[Place] = SimpleQueue()
        self._incompatible: set[int] = set()  # places whose worker was incompatible; another one would be too
        self._here = identity()
        self._failures = 0  # consecutive failures to start
        self._checked = self._began = self._seen = 0.0
        self._joined: set[int] = set()  # places that have had a worker
        self._is_closed = self._has_warned = False

    def start(self, inbox: Inbox) -> None:
        """Start the actors; RunError if Ray does not start."""
        self._inbox = inbox
        self._cluster.connect()
        self._began = self._seen = time.monotonic()
        for number in range(self.size):
            self._start_worker(number, 0)

    def submit(self, worker: str, task: Task) -> None:
        """Send a task to an idle actor."""
        place = self._places.get(worker)
        if place is None:  # lost with Ray's head; the inbox already has the event that returns the task
            return
        ref = place.actor.do.remote(task.work)
        ref.future().add_done_callback(lambda future: self._on_answer(worker, task, future))

    def check(self) -> None:
        """Replace lost workers and check the head: restarts a local one, waits for a remote one."""
        self._replace_lost()
        now = time.monotonic()
        if now - self._checked < CHECK_S:
            return
        self._checked = now
        if self._cluster.is_alive():
            self._seen = now
            self._warn_of_missing(now)
        elif self._cluster.is_local:
            self._restart_ray()
        elif now - self._seen > HEAD_GONE_S:
            self._inbox.put(PoolFailed(RunError(HEAD_GONE)))

    def close(self) -> None:
        """End all actors and disconnect."""
        self._is_closed = True
        for place in self._take_places():
            self._cluster.end_worker(place.actor)
        self._cluster.disconnect()

    def _start_worker(self, number: int, restarts: int) -> None:
        place = Place(number, None, restarts)
        place.actor = self._cluster.start_worker(self._runs, place.name, self._gpus)
        self._places[place.name] = place
        place.actor.hello.remote().future().add_done_callback(lambda future: self._on_ready(place, future))

    def _on_ready(self, place: Place, future: Future[Hello]) -> None:
        """Handle, in one of Ray's threads, that a new worker is ready or has failed to start."""
        if self._places.get(place.name) is not place or self._is_closed:
            return
        error = future.exception()
        if error is not None:
            self._failures += 1
            self._on_loss(place, error)
            return
        hello, self._failures = future.result(), 0
        self._joined.add(place.number)
        differ = differences(self._here, hello.identity)
        if differ:
            self._inbox.put(
                IncompatibleVersion(place.name, f"on {hello.host}, {differ}; install the same version there")
            )
            self._incompatible.add(place.number)
            self._to_replace.put(place)
        else:
            self._inbox.put(Joined(place.name, hello.host, hello.pid, place.restarts))

    def _on_answer(self, name: str, task: Task, future: Future[Answer]) -> None:
        """Handle, in one of Ray's threads, that a worker has answered or died."""
        from ray.exceptions import RayTaskError

        error = future.exception()
        if error is None:
            self._inbox.put(Answered(name, task, future.result()))
        elif isinstance(error, RayTaskError):
            self._inbox.put(Answered(name, task, TaskFailure(FailureKind.ERROR, str(error.cause or error))))
        elif (place := self._places.get(name)) is not None:
            self._on_loss(place, error)

    def _on_loss(self, place: Place, error: BaseException) -> None:
        """Report the loss now and let `check` replace the actor, since Ray must not be called from its own threads."""
        if self._places.pop(place.name, None) is place and not self._is_closed:
            self._inbox.put(Lost(place.name, str(error).partition("\n")[0]))
            self._to_replace.put(place)

    def _replace_lost(self) -> None:
        while not self._to_replace.empty():
            place = self._to_replace.get()
            self._cluster.end_worker(place.actor)
            if self._failures >= MAX_START_FAILURES:
                raise RunError(
                    f"{MAX_START_FAILURES} workers in a row ended before they were ready; see Ray's logs"
                )
            if place.number not in self._incompatible:
                self._start_worker(place.number, place.restarts + 1)

    def _restart_ray(self) -> None:
        """Restart Ray on this machine after its head, and all workers with it, died."""
        log.error("Ray's head has died; restarting Ray, no draw is lost")
        places = self._take_places()
        for place in places:
            self._inbox.put(Lost(place.name, "Ray's head has died"))
        self._cluster.disconnect()
        self._cluster.connect()
        for place in places:
            self._start_worker(place.number, place.restarts + 1)

    def _take_places(self) -> list[Place]:
        """Empty the table of places and return them; one of Ray's threads may remove one at any moment."""
        places = list(self._places.values())
        self._places = {}
        return places

    def _warn_of_missing(self, now: float) -> None:
        """Warn once about missing workers: Ray waits for ever if the cluster is too small."""
        if self._has_warned or len(self._joined) >= self.size or now - self._began < WARN_AFTER_S:
            return
        import ray

        self._has_warned = True
        resources: dict[str, float] = ray.cluster_resources()
        free = {name: resources.get(name, 0) for name in ("CPU", "GPU")}
        log.warning(
            "fewer than %d workers have started; each needs 1 CPU and %g GPU, the cluster has %s",
            self.size,
            self._gpus,
            free,
        )
