"""Runs `trex work` with given options until the queue is empty or the user stops it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trex.farm.work import Farm, WorkOutcome
from trex.farm.work_progress import WorkProgress
from trex.foundation.errors import InputError
from trex.pages.display import Display
from trex.runs.folder import check_free
from trex.search.stopping import stoppable
from trex.workers.local_pool import LocalPool
from trex.workers.pool import Pool
from trex.workers.worker import Worker
from trex.workers.worker_log import worker_log


@dataclass(frozen=True)
class Workforce:
    """The pool to use: `workers` Ray workers (None: this process), at `address` (None: this machine only)."""

    workers: int | None
    address: str | None
    gpus: float
    temp: Path | None


def run_work(runs: Path, workforce: Workforce, lease_s: float, *, until_empty: bool) -> WorkOutcome:
    """Run the queue; if stopped by Ctrl-C or SIGTERM, prints how to resume."""
    check_free(runs)
    pool = make_pool(runs, workforce)
    stopped = f"stopped; every draw is kept and the queries are queued again. Resume: trex work --runs {runs}"
    with stoppable(lambda: [stopped]), Display() as display:
        farm = Farm(runs, pool, display.say, lease_s)
        return farm.run(until_empty=until_empty, show=WorkProgress(display))


def make_pool(runs: Path, workforce: Workforce) -> Pool:
    """The pool of workers; InputError if the options contradict each other or nothing answers at the address."""
    if workforce.workers is None:
        if workforce.address is not None or workforce.gpus or workforce.temp is not None:
            raise InputError(
                "--address, --gpus-per-worker and --ray-temp apply to Ray workers only; add --workers N"
            )
        return LocalPool(Worker(worker_log(runs, "here")))
    from trex.farm.ray_cluster import Cluster, import_ray
    from trex.farm.ray_pool import RayPool

    cluster = Cluster(workforce.address, workforce.workers, workforce.temp)
    import_ray(is_local=cluster.is_local)
    return RayPool(runs, workforce.workers, cluster, workforce.gpus)
