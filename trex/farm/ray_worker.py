"""A worker as a Ray actor: the same worker as in one process, but in its own process on any machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.home import prepare_packages
from trex.workers.task_result import Answer, Identity, identity
from trex.workers.tasks import Work
from trex.workers.worker import Worker
from trex.workers.worker_log import worker_log

ONE_THREAD = {
    "TREX_CORES": "1",
    "OMP_NUM_THREADS": "1",
    "GOMP_SPINCOUNT": "0",
}  # parallelism comes from more workers, not more threads


@dataclass(frozen=True)
class Hello:
    """A worker's process, its machine, and the versions that it runs."""

    host: str
    pid: int
    identity: Identity


class RayWorker:
    """Created by Ray with one core; its open worlds end with its process."""

    def __init__(self, runs: str, name: str) -> None:
        os.environ.update(ONE_THREAD)  # before torch is imported
        prepare_packages()
        self._worker = Worker(worker_log(Path(runs), name), processes=1)

    def hello(self) -> Hello:
        """The worker's identity; answers once the worker is ready."""
        return Hello(platform.node(), os.getpid(), identity())

    def do(self, work: Work) -> Answer:
        """The result of a task, or why it failed; see `trex.workers.worker.Worker.do`."""
        return self._worker.do(work)
