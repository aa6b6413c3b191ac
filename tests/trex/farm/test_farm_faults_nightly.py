"""How much the queue and `trex queue run` lose or double under faults, counted; by hand: pytest -m nightly -s FILE."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.running.farm_pools import add, farmed, undisturbed
from tests.running.farm_processes import n_draws, start_work
from tests.running.farm_runs import filled, waiting
from tests.running.waiting import wait_for
from trex.farm.queue import queue
from trex.farm.queue.queue_file import queue_file
from trex.farm.queue.rebuild import rebuild

pytestmark = pytest.mark.process


SEED = 12
ENTRIES = int(os.environ.get("TREX_FAULT_ENTRIES", "1000"))
QUERIES = int(os.environ.get("TREX_FAULT_QUERIES", "16"))
FORK = multiprocessing.get_context("fork")
LEASE_S = 0.5


def claim_all(runs: Path, name: str) -> None:
    """Claim, and finish what was claimed, until nothing is open; what was finished goes into a file of its own."""
    with (runs / f"{name}.txt").open("a", encoding="ascii") as finished:
        while queue.entries(runs, ["queued", "running"], limit=1):
            entry = queue.claim(runs, name, time.time(), LEASE_S)
            if entry is None:
                continue
            try:
                queue.finish(runs, entry.id, name, time.time())
            except queue.LeaseLost:
                continue
            finished.write(f"{entry.id}\n")
            finished.flush()


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_forty_kills_of_claiming_processes_lose_and_double_no_entry(tmp_path: Path) -> None:
    runs, rng = filled(tmp_path, *(waiting(number) for number in range(ENTRIES))), random.Random(SEED)
    workers = [FORK.Process(target=claim_all, args=(runs, f"first-{number}")) for number in range(4)]
    for worker in workers:
        worker.start()
    for kill in range(40):
        done = (kill + 1) * ENTRIES // 50
        wait_for(lambda done=done: queue.counts(runs).get("done", 0) >= done)  # type: ignore[misc]
        place = rng.randrange(4)
        workers[place].kill()
        workers[place].join()
        workers[place] = FORK.Process(target=claim_all, args=(runs, f"again-{kill}"))
        workers[place].start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    texts = Counter(line for path in runs.glob("*.txt") for line in path.read_text().split())
    doubled = [name for name, times in texts.items() if times > 1]
    counts = queue.counts(runs)
    print(
        json.dumps({"entries": ENTRIES, "kills": 40, "counts": counts, "doubled": len(doubled)}), flush=True
    )
    assert counts == {"done": ENTRIES} and doubled == []


class Crew:
    """Two `trex queue run` on one queue, each begun again when it has ended before everything is done."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.runs, self.rng = folder, folder / "runs", rng
        self.members = [self.start(), self.start()]

    def start(self) -> subprocess.Popen[str]:
        return start_work(self.folder, "--lease", "2")

    def log(self) -> str:
        return (self.folder / "work.log").read_text()

    def kill(self) -> None:
        """kill -9, and another one in its place."""
        place = self.rng.randrange(2)
        self.members[place].kill()
        self.members[place].wait()
        self.members[place] = self.start()

    def stop(self) -> None:
        """SIGSTOP until the other one has met its lock, or it holds nothing."""
        popen, before = self.rng.choice(self.members), self.log().count("given back")
        if popen.poll() is not None:
            return
        popen.send_signal(signal.SIGSTOP)
        wait_for(lambda: self.log().count("given back") > before or not self.holds(popen.pid))
        popen.send_signal(signal.SIGCONT)

    def holds(self, pid: int) -> bool:
        """Whether any entry is this process's."""
        return any(f"-{pid}-" in (entry.owner or "") for entry in queue.entries(self.runs, ["running"]))

    def delete(self) -> None:
        """The queue's file goes; both end and say so; it is written anew."""
        for path in self.runs.glob(f"{queue_file(self.runs).name}*"):
            path.unlink()
        for member in self.members:
            assert member.wait(timeout=300) != 0, "an end without a queue is no success"
        assert "trex queue rebuild" in self.log()
        rebuild(self.runs)
        self.members = [self.start(), self.start()]

    def finish(self) -> list[int]:
        """The exit codes of both at the end."""
        return [member.wait(timeout=1800) for member in self.members]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_kills_stops_and_a_deleted_queue_lose_and_double_no_draw(tmp_path: Path) -> None:
    budget = ["search.prior_scenes=10", "search.chains=2", "search.steps=18"]
    queries = [[*budget, f"search.seed={seed}"] for seed in range(QUERIES)]
    whole = undisturbed(tmp_path, queries)
    total = sum(draws.count(b"\n") for draws in whole)
    entries, rng = add(tmp_path, queries), random.Random(SEED)
    crew = Crew(tmp_path, rng)
    faults = [crew.kill] * 6 + [crew.stop] * 4 + [crew.delete] * 2
    rng.shuffle(faults)
    moments = sorted(rng.sample(range(1, total * 8 // 10), len(faults)))
    for moment, fault in zip(moments, faults, strict=True):
        wait_for(lambda moment=moment: n_draws(tmp_path / "runs") >= moment)  # type: ignore[misc]
        print(f"{moment} of {total} draws: {fault.__name__}", flush=True)
        fault()
    assert crew.finish() == [0, 0], crew.log()
    datas = farmed(tmp_path, entries)
    different = sum(data != other for data, other in zip(datas, whole, strict=True))
    given_back = crew.log().count("given back")
    numbers = {"queries": QUERIES, "draws": total, "faults": len(faults), "given_back": given_back}
    print(json.dumps({**numbers, "queries_with_other_draws": different}), flush=True)
    assert queue.counts(tmp_path / "runs") == {"done": QUERIES}
    assert different == 0
