"""Memory of a process and its children (Blender), read from Linux's /proc."""

from __future__ import annotations

import os
from pathlib import Path

PROC = Path("/proc")


def memory_mib(pid: int | None = None) -> float:
    """Resident memory of a process and all its descendants in MiB; 0 if the system does not report it."""
    pids, found = [pid or os.getpid()], 0.0
    while pids:
        one = pids.pop()
        found += _resident_mib(one)
        pids += children(one)
    return found


def children(pid: int) -> list[int]:
    """The ids of a process's living children."""
    try:
        lists = [path.read_text() for path in (PROC / str(pid) / "task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def _resident_mib(pid: int) -> float:
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
