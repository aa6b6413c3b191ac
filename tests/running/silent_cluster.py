"""A cluster without Ray, whose workers say what a test says, at the moment at which it says so."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

from trex.farm.workers.identity import identity
from trex.farm.workers.ray_cluster import Cluster, Hello
from trex.farm.workers.tasks import Answer, Work


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
