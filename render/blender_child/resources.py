"""Limits Blender's threads to the requested number, and returns unused memory of the C library to the system.

At its start Blender asks how many cores it may use, and makes that many threads for its own work, whatever number
Cycles gets. Idle ones poll for work (`sched_yield`, a million times a second measured), which takes half a core
from other processes. Started on as many cores as it has threads, it makes no surplus; afterwards it may use all of
them again.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TASKS = Path("/proc/self/task")


@contextmanager
def seeing_cores(n: int) -> Iterator[None]:
    """Inside, this process runs on and counts only `n` of its cores; all if n is 0 or the system has no affinity."""
    if not n or not hasattr(os, "sched_setaffinity") or not TASKS.is_dir():
        yield
        return
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid()  # processes that start together begin on different cores
    os.sched_setaffinity(0, {cores[(first + i) % len(cores)] for i in range(min(n, len(cores)))})
    try:
        yield
    finally:
        for task in TASKS.iterdir():  # a thread inherits the cores of the thread that made it
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(int(task.name), cores)


# Blender frees a picture's memory, but in pieces between others that stay, so glibc keeps the pages: 20 MB of 300
# after 200 pictures, while the memory in use was constant to .1 MB (docs/PERFORMANCE.md).
EVERY = 50  # pictures; a call takes 2 ms


def give_back_free_memory() -> bool:
    """Whether pages were returned; does nothing if the C library has no such call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in glibc, malloc_trim(3)
    return trim is not None and bool(trim(0))
