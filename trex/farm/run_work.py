"""Runs `trex queue run` with given options until the queue is empty or the user stops it, and shows its progress."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trex.farm.work import Farm, WorkOutcome
from trex.farm.workers.jobs import RunningSearch
from trex.farm.workers.pool import LocalPool, Pool
from trex.farm.workers.worker import Worker, worker_log
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.pages.display import Display
from trex.runs.folder import check_free
from trex.search.progress import PHASES
from trex.search.stopping import stoppable


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
    stopped = (
        f"stopped; every draw is kept and the queries are queued again. Resume: trex queue run --runs {runs}"
    )
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
    from trex.farm.workers.ray_cluster import Cluster, import_ray
    from trex.farm.workers.ray_pool import RayPool

    cluster = Cluster(workforce.address, workforce.workers, workforce.temp)
    import_ray(is_local=cluster.is_local)
    return RayPool(runs, workforce.workers, cluster, workforce.gpus)


if TYPE_CHECKING:
    from trex.pages.display import Display

SHOWN = 3  # running queries on display


class WorkProgress:
    """Refreshes the display every half second; shows nothing while no query runs."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __call__(self, jobs: Collection[RunningSearch], done: int, failed: int) -> None:
        """Refresh the display."""
        if jobs:
            running = [_progress(job) for job in list(jobs)[:SHOWN]]
            more = (
                [f"and {counted(len(jobs) - SHOWN, 'more query', 'more queries')}"]
                if len(jobs) > SHOWN
                else []
            )
            failures = [f"{failed} failed"] if failed else []
            self._display.show("queries ended:", done + failed, None, *failures, *running, *more)


def _progress(job: RunningSearch) -> str:
    status = job.progress.status
    if status is None:
        return f"{job.run.name}: starting"
    return f"{job.run.name}: {PHASES.get(status.phase, status.phase)} {status.done}/{status.total}"
