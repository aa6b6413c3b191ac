"""Two real workers of Ray, one of which is killed; and what is said where Ray cannot be used."""

from __future__ import annotations

import os
import signal
import socket
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from tests.running.command_line import trex
from tests.running.farm_pools import SEARCHES, add, farmed, undisturbed
from trex.farm.work import Farm
from trex.farm.workers.identity import differences, identity
from trex.farm.workers.pool import Answered, Event, Inbox, IncompatibleVersion, Joined, Lost
from trex.farm.workers.ray_cluster import Cluster, Hello, import_ray
from trex.farm.workers.ray_pool import RayPool
from trex.farm.workers.scheduler import Scheduler
from trex.farm.workers.task_board import Task, TaskBoard
from trex.farm.workers.tasks import Answer, DrawSegment, Work
from trex.foundation.errors import InputError, RunError
from trex.runs.record import PRIOR
from trex.search.engine import Independent


class Call:
    """A method of an actor: whoever calls it gets what the test puts into `future`."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def remote(self, *_: Work) -> Call:
        return self

    def future(self) -> Future[Any]:
        return self._future


class SilentWorker:
    """An actor that has not said anything yet: neither hello nor the answer to its work."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.greeting: Future[Hello] = Future()
        self.answer: Future[Answer] = Future()
        self.hello, self.do = Call(self.greeting), Call(self.answer)

    def greets(self, **differs: str) -> None:
        """It is there, of this version but for what differs."""
        self.greeting.set_result(Hello("far", 7, {**identity(), **differs}))


class SilentCluster(Cluster):
    """Started here; its head may be gone, and a worker that is killed is noticed at once where it had work."""

    def __init__(self, cores: int) -> None:
        super().__init__(None, cores, None)
        self.workers: dict[str, SilentWorker] = {}
        self.killed: list[str] = []
        self.has_head = True

    def connect(self) -> None:
        """There is nothing to connect to."""

    def disconnect(self) -> None:
        """Nothing was started."""

    def is_alive(self) -> bool:
        return self.has_head

    def start_worker(self, runs: Path, name: str, gpus: float) -> SilentWorker:
        self.workers[name] = SilentWorker(name)
        return self.workers[name]

    def end_worker(self, actor: SilentWorker) -> None:
        self.killed.append(actor.name)
        actor.answer.set_exception(RuntimeError("killed"))


ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'bayes-trex[farm]'")


class Noting(Inbox):
    """Notes the events on their way to a farm's inbox."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox, self.events = inbox, list[Event]()

    def put(self, event: Event, block: bool = True, timeout: float | None = None) -> None:
        self.events.append(event)
        self.inbox.put(event)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return undisturbed(tmp_path_factory.mktemp("whole"), [SEARCHES["chains"], SEARCHES["stops when found"]])


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.usefixtures("no_ray_left")
def test_two_workers_and_a_kill(tmp_path: Path, whole: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_worker_niceness", "0")  # Ray's workers give way to everything else

    class Killing(RayPool):
        """Kills the first worker that is given work, at that moment."""

        killed = ""

        def start(self, inbox: Inbox) -> None:
            self.noted = Noting(inbox)
            super().start(self.noted)

        def submit(self, worker: str, task: Task) -> None:
            super().submit(worker, task)
            if not self.killed:
                self.killed = worker
                joined = [event for event in self.noted.events if isinstance(event, Joined)]
                (pid,) = (event.pid for event in joined if event.worker == worker)
                os.kill(pid, signal.SIGKILL)

    entries = add(tmp_path, [SEARCHES["chains"], SEARCHES["stops when found"]])
    pool = Killing(tmp_path / "runs", 2, Cluster(None, 2, None))
    farm = Farm(tmp_path / "runs", pool, lambda _: None, 60.0)
    assert farm.run(until_empty=True).done == 2
    assert farmed(tmp_path, entries) == whole
    assert [event.worker for event in pool.noted.events if isinstance(event, Lost)] == [pool.killed]
    assert {event.worker for event in pool.noted.events if isinstance(event, Answered)} - {pool.killed}
    logs = list((tmp_path / "runs" / "logs").glob("worker-*.jsonl"))
    assert logs, "each worker logs its work"
    assert not (tmp_path / "runs" / ".farm").exists() or not list((tmp_path / "runs" / ".farm").iterdir())


def test_a_worker_of_another_version_is_told_apart() -> None:
    here = identity()
    assert differences(here, dict(here)) == ""
    assert "assets is 0, here it is" in differences(here, {**here, "assets": "0"})
    assert "numpy is None" in differences(here, {key: value for key, value in here.items() if key != "numpy"})


def started(runs: Path, size: int) -> tuple[RayPool, SilentCluster, Inbox]:
    """A pool on a cluster whose workers have said nothing yet."""
    cluster, inbox = SilentCluster(size), Inbox()
    pool = RayPool(runs, size, cluster)
    pool.start(inbox)
    return pool, cluster, inbox


def test_such_a_worker_is_not_used(tmp_path: Path) -> None:
    _, cluster, inbox = started(tmp_path, 2)
    cluster.workers["0-0"].greets(assets="0")
    event = inbox.get_nowait()
    assert isinstance(event, IncompatibleVersion) and "on far, assets is 0" in event.why


def test_workers_that_are_lost_while_the_pool_closes(tmp_path: Path) -> None:
    """To kill one brings a thread of Ray's to take it out."""
    pool, cluster, inbox = started(tmp_path, 3)
    for name, worker in cluster.workers.items():
        worker.greets()
        joined = inbox.get_nowait()
        assert isinstance(joined, Joined) and joined.worker == name
        pool.submit(name, Task("one", DrawSegment(tmp_path, Independent(PRIOR), range(1)), 0))
    pool.close()
    assert cluster.killed == ["0-0", "1-0", "2-0"]
    assert inbox.empty(), "nobody is told of workers that were ended"


def test_work_for_a_worker_that_went_with_the_head_is_done_by_another(tmp_path: Path) -> None:
    """The head was found gone; before that is taken in, a worker that waited is given work."""
    pool, cluster, inbox = started(tmp_path, 1)
    board = TaskBoard()
    scheduler = Scheduler(board, pool, inbox)
    cluster.workers["0-0"].greets()
    scheduler.handle(inbox.get_nowait())
    cluster.has_head = False
    pool.check()
    assert list(cluster.workers) == ["0-0", "0-1"], "another one is started, and has not greeted yet"
    board.open("one", 0)
    board.put("one", [DrawSegment(tmp_path, Independent(PRIOR), range(1))])
    scheduler.turn(0.0)
    assert scheduler.slots == {}
    task = board.take()
    assert task is not None and task.losses == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--workers", "1", "--address", "127.0.0.1:9"], "nothing answers at 127.0.0.1:9"),
        (["--workers", "1", "--address", "ray://127.0.0.1:9"], "nothing answers at ray://127.0.0.1:9"),
        (["--workers", "1", "--address", "nonsense"], "'nonsense' is not an address"),
        (["--workers", "1", "--address", "host:99999"], "is not an address"),
        (["--address", "auto"], "add --workers N"),
        (["--workers", "1", "--ray-temp", "/tmp/" + "x" * 50], "too long for sockets"),
    ],
)
def test_what_cannot_be_is_said_before_anything_begins(options: list[str], text: str, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    result = trex("queue", "run", "--until-empty", "--runs", tmp_path / "runs", *options)
    assert result.exit_code == 2, result.output
    assert text in result.output


def test_ray_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'bayes-trex\[farm\]'"):
        import_ray(is_local=True)


@pytest.mark.parametrize(("mode", "is_hinted"), [(None, True), ("token", False)])
def test_a_head_that_turns_a_client_away_may_want_a_token(
    mode: str | None, is_hinted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times_out(**_: object) -> None:
        raise ConnectionError("timed out")

    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    monkeypatch.setattr(ray, "init", times_out)
    with socket.create_server(("127.0.0.1", 0)) as head:
        cluster = Cluster(f"ray://127.0.0.1:{head.getsockname()[1]}", 2, None)
        with pytest.raises(RunError, match="timed out") as info:
            cluster.connect()
    assert ("RAY_AUTH_MODE=token here too" in str(info.value)) == is_hinted
