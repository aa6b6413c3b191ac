"""What the farm costs beside one process, and what each command costs on 10,000 queued queries."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean, median

from benchmarks.figure import note, show
from trex.farm.queue import add as queue_add
from trex.farm.queue.queue import entry
from trex.farm.queue.queue_file import queue_file
from trex.farm.queue.requests import queue_requests
from trex.farm.status import read_farm_statuses
from trex.farm.workers.tasks import STEPS

TREX = [sys.executable, "-m", "trex.commands.shell.app", "queue"]
PRESET = os.environ.get("TREX_BENCH_PRESET", "fast")
CHAINS, ROUNDS = 2, 6 * STEPS
QUERIES = 2  # at once: with more chains than workers, no worker waits for another's chain
QUERY = """
question = "How many cubes are there?"
answer = "1"
[scene]
revoke = ["cube"]
[render]
preset = "{preset}"
device = "cpu"
[search]
prior_scenes = 8
chains = {chains}
steps = {steps}
further = 0
control = false
"""
ENTRIES = 10_000
FAKE_QUERY = """
question = "How many red things are there?"
answer = "2"
[model]
name = "fake"
[render]
preset = "fake"
"""


@dataclass(frozen=True)
class Piece:
    """A line of a worker's log: a segment's beginning and end (Unix seconds), and its renders."""

    worker: str
    begin: float
    end: float
    renders: int


def farm() -> None:
    """A query on a warm farm of 1 and of 2 workers: overhead, throughput, first render, memory."""
    rates = {workers: _measured(workers) for workers in (1, 2)}
    show("farm.throughput_ratio_2_to_1", rates[2] / rates[1], "")


def _measured(workers: int) -> float:
    """Renders a second while there is work for every worker, with all other figures shown."""
    note(f"running {QUERIES} queries at preset {PRESET} on a warm farm of {workers}")
    with tempfile.TemporaryDirectory() as place, _warm_farm(Path(place), workers) as runs:
        began = time.time()
        pieces = _carried_out(runs, *(f"search.seed={seed}" for seed in range(1, QUERIES + 1)))
        memory = [worker.memory_mib for status in read_farm_statuses(runs) for worker in status.workers]
    by_worker = [[p for p in pieces if p.worker == name] for name in sorted({p.worker for p in pieces})]
    gaps = [gap for own in by_worker for gap in _gaps(own)]
    begin, end = min(p.begin for p in pieces), min(max(p.end for p in own) for own in by_worker)
    rate = sum(_renders_within(p, end) for p in pieces) / (end - begin)
    each = fmean((p.end - p.begin) / p.renders for p in pieces if p.renders)
    show(f"farm.{workers}_workers.renders_per_s", rate, "1/s")
    show(f"farm.{workers}_workers.s_per_render", each, "s")
    show(f"farm.{workers}_workers.memory_mib_per_worker", fmean(memory), "MiB")
    first = min(pieces, key=lambda piece: piece.begin)
    show(f"farm.{workers}_workers.first_render_s", first.begin + each - began, "s")
    if workers == 1:  # with more, a worker also waits for others: that is no cost of the farm's
        renders, per_segment = sum(p.renders for p in pieces), median(gaps)
        show("farm.segment_overhead_ms", per_segment * 1e3, "ms")
        show("farm.render_overhead_ms", per_segment * len(pieces) / renders * 1e3, "ms")
        show("farm.overhead_share", per_segment * len(pieces) / sum(p.end - p.begin for p in pieces), "")
    return rate


def _renders_within(piece: Piece, end: float) -> float:
    """The renders of a piece that were made before this moment, as if they took equally long."""
    if piece.end <= end:
        return piece.renders
    return piece.renders * max(0.0, end - piece.begin) / (piece.end - piece.begin)


def _gaps(pieces: list[Piece]) -> Iterator[float]:
    """The seconds from the end of each segment to the beginning of the next on the same worker."""
    ordered = sorted(pieces, key=lambda piece: piece.begin)
    for item, following in itertools.pairwise(ordered):
        yield following.begin - item.end


@contextmanager
def _warm_farm(place: Path, workers: int) -> Iterator[Path]:
    """`trex queue run` that has carried out a query of the same world already."""
    query = QUERY.format(preset=PRESET, chains=CHAINS, steps=ROUNDS)
    (place / "query.toml").write_text(query, encoding="utf-8")
    runs = place / "runs"
    words = [*TREX, "run", "--runs", str(runs), "--workers", str(workers)]
    environment = {**os.environ, "RAY_worker_niceness": "0"}
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            _carried_out(runs, "search.steps=2")
            yield runs
        finally:
            process.send_signal(signal.SIGTERM)


def _carried_out(runs: Path, *overrides: str) -> list[Piece]:
    """Queue the query once with each override, wait for their end; the pieces of work that were done for them."""
    found = queue_requests([runs.parent / "query.toml"], (), [(override,) for override in overrides])
    added = [element.entry for element in queue_add.add(runs, found, 0, time.time())]
    for item in added:
        _wait(lambda element=item: entry(runs, element.id).state in ("done", "failed"))  # type: ignore[misc]
        assert entry(runs, item.id).state == "done", entry(runs, item.id).why
    return [
        piece
        for path in (runs / "logs").glob("worker-*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
        for piece in _pieces(json.loads(line), {element.folder for element in added})
    ]


def _pieces(line: dict[str, object], folders: set[str]) -> list[Piece]:
    if line.get("run") not in folders or line["message"] != "done" or line["work"] == "Opening":
        return []
    end = datetime.fromisoformat(str(line["time"])).timestamp()
    seconds, renders = float(str(line["seconds"])), int(str(line["renders"]))
    return [Piece(str(line["worker"]), end - seconds, end, renders)]


def _wait(condition: Callable[[], bool], seconds: float = 900.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain"
        time.sleep(0.5)  # looking costs CPU time too


def queue() -> None:
    """Seconds and CPU seconds of each command, the start of Python included; other work may run beside."""
    with tempfile.TemporaryDirectory() as place:
        query, runs = Path(place) / "query.toml", Path(place) / "runs"
        query.write_text(FAKE_QUERY, encoding="utf-8")
        note(f"adding, listing, cancelling and rebuilding {ENTRIES:,} queued queries")
        _timed("add", str(query), "--sweep", f"search.seed=0..{ENTRIES - 1}", "--runs", str(runs))
        _timed("list", "--runs", str(runs))
        _timed("cancel", "--all", "--runs", str(runs))
        queue_file(runs).unlink()
        _timed("rebuild", "--runs", str(runs))


def _timed(command: str, *words: str) -> None:
    began, used = time.perf_counter(), _cpu_s()
    subprocess.run([*TREX, command, *words], check=True, stdout=subprocess.DEVNULL)
    show(f"queue.{command}_{ENTRIES}_s", time.perf_counter() - began, "s")
    show(f"queue.{command}_{ENTRIES}_cpu_s", _cpu_s() - used, "CPU s")


def _cpu_s() -> float:
    """Seconds that the processes that have ended have computed."""
    times = os.times()
    return times.children_user + times.children_system
