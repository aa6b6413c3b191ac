"""10,000 queued queries: what it costs to add, list, cancel and rebuild them, each as a command of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figure import note, show
from trex.farm.queue.queue_file import queue_file

ENTRIES = 10_000
QUERY = """
question = "How many red things are there?"
answer = "2"
[model]
name = "fake"
[render]
preset = "fake"
"""


def queue() -> None:
    """Seconds and CPU seconds of each command, the start of Python included; other work may run beside."""
    with tempfile.TemporaryDirectory() as place:
        query, runs = Path(place) / "query.toml", Path(place) / "runs"
        query.write_text(QUERY, encoding="utf-8")
        note(f"adding, listing, cancelling and rebuilding {ENTRIES:,} queued queries")
        _timed("add", str(query), "--sweep", f"search.seed=0..{ENTRIES - 1}", "--runs", str(runs))
        _timed("list", "--runs", str(runs))
        _timed("cancel", "--all", "--runs", str(runs))
        queue_file(runs).unlink()
        _timed("rebuild", "--runs", str(runs))


def _timed(command: str, *words: str) -> None:
    began, used = time.perf_counter(), _cpu_s()
    trex = [sys.executable, "-m", "trex.commands.shell.app", "queue", command, *words]
    subprocess.run(trex, check=True, stdout=subprocess.DEVNULL)
    show(f"queue.{command}_{ENTRIES}_s", time.perf_counter() - began, "s")
    show(f"queue.{command}_{ENTRIES}_cpu_s", _cpu_s() - used, "CPU s")


def _cpu_s() -> float:
    """Seconds that the processes that have ended have computed."""
    times = os.times()
    return times.children_user + times.children_system
