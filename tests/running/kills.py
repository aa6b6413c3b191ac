"""Processes that are killed while they make draws."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.running.waiting import wait_for


def in_child(work: Callable[[], object]) -> int:
    """The id of a forked process that does the work."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def ended(pid: int) -> bool:
    """Waits for a process; whether it was killed."""
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def kill_midway(start: Callable[[], int], run: Path, size: int, whole: int) -> None:
    """Start a process that makes the draws of a run, and kill it once they have this many bytes, before it has all.

    Where it got through before that, since this process was kept waiting, all is begun again, with half the size.
    """
    while True:
        pid = start()
        wait_for(partial(has_draws, pid, run, size), pause_s=0.001)
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        if n_bytes(run) < whole:
            return
        assert size > 1, "it is never killed in time"
        shutil.rmtree(run)
        size //= 2


def has_draws(pid: int, run: Path, size: int) -> bool:
    """Whether the draws of a run have this many bytes; AssertionError if the process ended before."""
    is_over = os.waitid(os.P_PID, pid, HAS_ENDED)  # asked first: what ends now may still have made them all
    is_there = n_bytes(run) >= size
    assert is_there or not is_over, "it ended without its draws"
    return is_there


HAS_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT  # asked of a process that is still to be waited for


def n_bytes(run: Path) -> int:
    """The size of its draws."""
    path = run / "draws.jsonl"
    return path.stat().st_size if path.exists() else 0
