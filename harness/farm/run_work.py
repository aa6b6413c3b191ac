"""`trex work` from its options to its end, however that comes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foundation.errors import InputError
from harness.display import Display
from harness.farm.pool import Pool
from harness.farm.pool_here import PoolHere
from harness.farm.work import Ended, Farm
from harness.farm.work_progress import WorkProgress
from harness.farm.worker import Worker
from harness.farm.worker_log import worker_log
from harness.run_folder import check_free
from harness.stopping import stoppable


@dataclass(frozen=True)
class Workforce:
    """Who is to work: `workers` of Ray (None: this process), at `address` (None: this machine alone)."""

    workers: int | None
    address: str | None
    gpus: float
    temp: Path | None


def run_work(runs: Path, workforce: Workforce, lease_s: float, *, until_empty: bool) -> Ended:
    """Carry the queue out; a stop by Ctrl-C or a polite kill says how to go on."""
    check_free(runs)
    pool = make_pool(runs, workforce)
    stopped = f"stopped; every draw is kept, and the queries wait again. Go on: trex work --runs {runs}"
    with stoppable(lambda: [stopped]), Display() as display:
        farm = Farm(runs, pool, display.say, lease_s)
        return farm.run(until_empty=until_empty, show=WorkProgress(display))


def make_pool(runs: Path, workforce: Workforce) -> Pool:
    """The workers; InputError where the options do not go together or nothing answers at the address."""
    if workforce.workers is None:
        if workforce.address is not None or workforce.gpus or workforce.temp is not None:
            raise InputError(
                "--address, --gpus-per-worker and --ray-temp are for workers of Ray; give --workers N too"
            )
        return PoolHere(Worker(worker_log(runs, "here")))
    from harness.farm.pool_ray import RayPool
    from harness.farm.ray_cluster import Cluster, import_ray

    cluster = Cluster(workforce.address, workforce.workers, workforce.temp)
    import_ray(is_local=cluster.is_local)
    return RayPool(runs, workforce.workers, cluster, workforce.gpus)
