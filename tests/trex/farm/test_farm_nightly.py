"""What a farm has to survive, at full length: many queries, killed workers, a killed head, a killed `queue run`."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.running.farm_pools import add, farmed, undisturbed
from tests.running.farm_processes import HEAD, WORKER, below, kill_one, n_draws, start_work
from tests.running.waiting import wait_for
from trex.farm.queue import queue

pytestmark = pytest.mark.process


SEED = 5
QUERIES = int(os.environ.get("TREX_FARM_QUERIES", "40"))
BUDGET = ["search.prior_scenes=10", "search.chains=2", "search.steps=18"]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_forty_queries_survive_every_kill(tmp_path: Path) -> None:
    """10 kills of workers, 1 of Ray's head, 2 of `queue run` itself, at random moments; no draw lost or doubled."""
    queries = [[*BUDGET, f"search.seed={seed}"] for seed in range(QUERIES)]
    whole = undisturbed(tmp_path, queries)
    total = sum(draws.count(b"\n") for draws in whole)
    entries = add(tmp_path, queries)
    rng = random.Random(SEED)
    kills = ["worker"] * 10 + ["head"] + ["work"] * 2
    rng.shuffle(kills)
    moments = sorted(rng.sample(range(1, total * 9 // 10), len(kills)))
    began = time.monotonic()
    process = start_work(tmp_path, "--workers", "2")
    print(f"working in {tmp_path}", flush=True)
    for moment, kill in zip(moments, kills, strict=True):
        wait_for(lambda moment=moment: n_draws(tmp_path / "runs") >= moment)  # type: ignore[misc]
        print(f"{time.monotonic() - began:.0f} s, {moment} of {total} draws: kill -9 of {kill}", flush=True)
        wait_for(lambda: below(process.pid, WORKER))  # noqa: B023  # a head that has come up, with somebody at work
        if kill == "work":
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = start_work(tmp_path, "--workers", "2")
        else:
            kill_one(rng, process.pid, WORKER if kill == "worker" else HEAD)
    assert process.wait(timeout=1800) == 0, (tmp_path / "work.log").read_text()
    assert queue.counts(tmp_path / "runs") == {"done": QUERIES}
    assert farmed(tmp_path, entries) == whole
    lost = (tmp_path / "work.log").read_text().count("is lost")
    print(json.dumps({"queries": QUERIES, "draws": total, "segments_done_again": lost}), flush=True)
