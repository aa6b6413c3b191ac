"""Runs `trex queue run` with given options until the queue is empty or the user stops it, and shows its progress."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from trex.farm.work import Farm, WorkOutcome
from trex.farm.workers.jobs import RunningSearch
from trex.farm.workers.pool import LocalPool, Pool
from trex.farm.workers.worker import Worker, worker_log
from trex.foundation.words import counted, quoted
from trex.pages.display import Display
from trex.runs.folder import check_free
from trex.search.progress import PHASES
from trex.search.stopping import stoppable

SHOWN = 3  # running queries on display


def run_work(runs: Path, pool: Pool, display: Display, lease_s: float, *, until_empty: bool) -> WorkOutcome:
    """Run the queue; if stopped by Ctrl-C or SIGTERM, prints how to resume."""
    resume = f"trex queue run --runs {quoted(runs)}"
    stopped = f"stopped; every draw is kept and the queries are queued again. Resume: {resume}"

    def show(jobs: Collection[RunningSearch], done: int, failed: int) -> None:
        if jobs:
            running = [_progress(job) for job in list(jobs)[:SHOWN]]
            number = len(jobs) - SHOWN
            more = [f"and {counted(number, 'more query', 'more queries')}"] if number > 0 else []
            failures = [f"{failed} failed"] if failed else []
            display.show("queries ended:", done + failed, None, *failures, *running, *more)

    with stoppable(lambda: [stopped]):
        return Farm(runs, pool, display.say, lease_s).run(until_empty=until_empty, show=show)


def make_pool(runs: Path, workers: int | None, address: str | None, gpus: float, temp: Path | None) -> Pool:
    """The pool of `workers` Ray workers (None: this process), at `address` (None: this machine only).

    InputError if nothing answers at the address.
    """
    check_free(runs, "--runs")
    if workers is None:
        return LocalPool(Worker(worker_log(runs, "here")))
    from trex.farm.workers.ray_cluster import Cluster, import_ray
    from trex.farm.workers.ray_pool import RayPool

    cluster = Cluster(address, workers, temp)
    import_ray(is_local=cluster.is_local)
    return RayPool(runs, workers, cluster, gpus)


def _progress(job: RunningSearch) -> str:
    status = job.progress.status
    if status is None:
        return f"{job.run.name}: starting"
    return f"{job.run.name}: {PHASES.get(status.phase, status.phase)} {status.done}/{status.total}"
