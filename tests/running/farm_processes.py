"""`trex queue run` as a process of its own, and the processes below it, for the tests that kill them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from tests.running.waiting import wait_for
from trex.farm.workers.worker import children

TREX = [sys.executable, "-m", "trex.commands.shell.app"]
WORKER, HEAD = "ray::RayWorker", "gcs_server"


def start_work(folder: Path, *options: str, inside: str = "") -> subprocess.Popen[str]:
    """`trex queue run --until-empty` on FOLDER/runs, inside a network namespace; its messages go to FOLDER/work.log."""
    place = ["ip", "netns", "exec", inside] if inside else []
    words = [
        *place,
        *TREX,
        "queue",
        "run",
        "--runs",
        str(folder / "runs"),
        "--until-empty",
        "--lease",
        "20",
        *options,
    ]
    with (folder / "work.log").open("a", encoding="utf-8") as log:
        environment = {**os.environ, "RAY_worker_niceness": "0"}  # Ray's workers give way to everything else
        return subprocess.Popen(words, stdout=log, stderr=log, text=True, env=environment)


def below(pid: int, name: str) -> list[int]:
    """The processes below this one whose command line begins with or names `name`."""
    found, waiting = [], children(pid)
    while waiting:
        number = waiting.pop()
        waiting += children(number)
        if name in _command(number):
            found.append(number)
    return found


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")[0].decode()
    except OSError:
        return ""


def kill_one(rng: random.Random, pid: int, name: str) -> int:
    """kill -9 for one of the processes of this name below `pid`, which are waited for."""
    wait_for(lambda: below(pid, name))
    number = rng.choice(below(pid, name))
    os.kill(number, signal.SIGKILL)
    return number


def n_draws(runs: Path) -> int:
    """Whole lines in all draws below the runs folder."""
    return sum(path.read_bytes().count(b"\n") for path in runs.glob("*/draws.jsonl"))
