"""Blender's threads, as many as it was given and no more.

Blender asks once, as it starts, how many cores it may use, and makes that many threads for its own work whatever the
number of threads that Cycles is given. Those that find nothing to do ask for some over and over (`sched_yield`, a
million times a second measured), which takes half a core from whatever runs beside. Started on as many cores as it has
threads, it makes none too many; afterwards it may run on all of them again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TASKS = Path("/proc/self/task")


@contextmanager
def seeing_cores(n: int) -> Iterator[None]:
    """Inside, this process runs on `n` of its cores and counts no more; 0, or a system without affinity: on all."""
    if not n or not hasattr(os, "sched_setaffinity") or not TASKS.is_dir():
        yield
        return
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid()  # processes that start together begin on different cores
    os.sched_setaffinity(0, {cores[(first + i) % len(cores)] for i in range(min(n, len(cores)))})
    try:
        yield
    finally:
        for task in TASKS.iterdir():  # a thread has the cores of the thread that made it
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(int(task.name), cores)
