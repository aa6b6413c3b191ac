"""Processes that are killed while they make draws."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path


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
        while True:
            is_over = os.waitid(os.P_PID, pid, HAS_ENDED)
            if n_bytes(run) >= size:
                break
            assert not is_over, "it ended without its draws"
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
        ended(pid)
        if n_bytes(run) < whole:
            return
        assert size > 1, "it is never killed in time"
        shutil.rmtree(run)
        size //= 2


HAS_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT  # asked of a process that is still to be waited for


def n_bytes(run: Path) -> int:
    """The size of its draws."""
    path = run / "draws.jsonl"
    return path.stat().st_size if path.exists() else 0
