"""What a `trex queue run` writes of itself: whatever is done to the clock, `trex queue watch` sees it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from trex.farm import status_writer
from trex.farm.monitor.metrics import metrics
from trex.farm.monitor.overview import SILENT_S, live, overview
from trex.farm.status import RunStatus, read_farm_statuses, read_run_status
from trex.farm.status_writer import StatusWriter
from trex.farm.workers.jobs import RunningSearch
from trex.farm.workers.pool import Inbox, Joined, Lost
from trex.farm.workers.ray_pool import Place
from trex.farm.workers.scheduler import Scheduler
from trex.farm.workers.task_board import TaskBoard
from trex.search.progress import Status


class Clocks:
    """The time of day, which can be set, and seconds since some start, which cannot."""

    def __init__(self) -> None:
        self.wall, self.since_start = 1e9, 5.0

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.since_start

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.since_start += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(status_writer, "time", clocks)
    return clocks


def scheduler(*workers: str) -> Scheduler:
    """One that has these workers and nothing for them to do."""
    pool = SimpleNamespace(chains_per_task=1, size=len(workers))
    scheduler = Scheduler(TaskBoard(), pool, Inbox())  # type: ignore[arg-type]
    for worker in workers:
        scheduler.handle(Joined(worker, "here", 1))
    return scheduler


def written(run: Path) -> RunStatus:
    found = read_run_status(run)
    assert found is not None
    return found


@pytest.mark.parametrize("jump_s", [-3600.0, 0.0, 3600.0])
def test_a_clock_that_is_set_stops_neither_the_status_nor_the_rates(
    jump_s: float, tmp_path: Path, clocks: Clocks
) -> None:
    """Planted bug: after an hour back, nothing was written for an hour, and the rates were 0 for another."""
    run = tmp_path / "run"
    run.mkdir()
    writer, job, farm = StatusWriter(tmp_path, "me"), RunningSearch("one", run), scheduler("w")
    for done in range(10):
        if done == 5:
            clocks.wall += jump_s
        job.progress.status = Status("chain", done, 100, 2 * done, done, done, 0.5, 0, 0)
        writer.write(farm, {"one": job})
        now = written(run)
        assert (now.search.done, now.updated) == (done, clocks.wall)
        assert now.renders_per_s == (2.0 if done else 0.0)
        assert live(now, clocks.wall) == now
        assert overview(tmp_path, clocks.wall, 1).workers == 1
        clocks.wait(1.0)
    assert now.left_s == 91.0


def test_a_status_is_written_once_a_second(tmp_path: Path, clocks: Clocks) -> None:
    writer, farm = StatusWriter(tmp_path, "me"), scheduler("w")
    moments = []
    for _ in range(8):
        writer.write(farm, {})
        moments.append(read_farm_statuses(tmp_path)[0].updated - 1e9)
        clocks.wait(0.5)
    assert moments == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


def test_what_a_killed_farm_left_does_not_live_on_when_the_clock_is_set_back(
    tmp_path: Path, clocks: Clocks
) -> None:
    """Planted bug: a status with a time to come counted as live until that time."""
    StatusWriter(tmp_path, "killed").write(scheduler("w"), {})
    assert overview(tmp_path, clocks.wall, 1).workers == 1
    assert overview(tmp_path, clocks.wall - SILENT_S, 1).workers == 0


def test_a_worker_that_replaces_a_lost_one_continues_its_series(tmp_path: Path, clocks: Clocks) -> None:
    """Planted bug: a label held the number of restarts, so that no series ever counted one."""
    writer, farm, samples = StatusWriter(tmp_path, "me"), scheduler(), []
    for restarts in (0, 1, 12):
        places = [Place(0, None, 0), Place(11, None, restarts)]
        for place in places:
            farm.handle(Joined(place.name, "here", 1, place.restarts))
        writer.write(farm, {})
        lines = metrics(overview(tmp_path, clocks.wall, 0)).splitlines()
        samples.append([line for line in lines if line.startswith("trex_worker_restarts_total")])
        farm.handle(Lost(places[1].name, "kill -9"))
        clocks.wait(1.0)
    series = 'trex_worker_restarts_total{farm="me",worker="%d",host="here"} %d'
    assert samples == [[series % (0, 0), series % (11, n)] for n in (0, 1, 12)]
