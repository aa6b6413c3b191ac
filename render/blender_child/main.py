"""The Blender process: reads scenes from one pipe, writes pictures to another, and ends with its parent.

Run as `python -P -m trex.render.blender_child.main READ_FD WRITE_FD`, or inside a Blender executable
(`trex.render.blender.program`). The pipes carry only frames; Blender's own output goes elsewhere.

At its start Blender asks how many cores it may use, and makes that many threads for its own work, whatever number
Cycles gets. Idle ones poll for work (`sched_yield`, a million times a second measured), which takes half a core
from other processes. Started on as many cores as it has threads, it makes no surplus; afterwards it may use all of
them again.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from trex.render.blender.settings import TEMPORARY
from trex.render.blender.wire import Closed, read_frame, write_frame


def main() -> None:
    """Serve until the parent closes the pipe or dies; always ends through os._exit, as Blender's exit may hang."""
    read_fd, write_fd = map(int, sys.argv[-2:])
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        serve(read_fd, write_fd)
    except Closed:
        pass
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    _end()


def serve(read_fd: int, write_fd: int) -> None:
    """Answer the settings with a greeting, then each scene with its picture."""
    from trex.foundation.errors import TrexError
    from trex.foundation.json_fields import whole

    settings, _ = read_frame(read_fd)
    try:
        with seeing_cores(whole(settings["threads"], "threads")):
            from trex.render.blender_child.session import Session  # imports bpy

            session = Session(settings)
    except TrexError as error:
        write_frame(write_fd, {"refused": str(error)})
        return
    except Exception:
        write_frame(write_fd, {"broken": traceback.format_exc(limit=-3)})
        return
    write_frame(write_fd, session.greeting())
    for number in count(1):
        request, _ = read_frame(read_fd)
        try:
            header, parts = session.answer(request)
        except Exception:
            header, parts = {"failed": traceback.format_exc(limit=-4)}, ()
        if number % EVERY == 0:
            give_back_free_memory()
        write_frame(write_fd, header | {"rss": _resident_bytes()}, *parts)


def _resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no /proc: the peak so far, which is in bytes on macOS
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    _end()


def _end() -> None:
    """Exit at once and delete this process's temporary folder, which a killed parent cannot do."""
    folder = os.environ.get("BLENDER_USER_RESOURCES", "")
    if os.path.basename(folder).startswith(TEMPORARY):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


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
# after 200 pictures, while the memory in use was constant to .1 MB (reproduce/LOG.md).
EVERY = 50  # pictures; a call takes 2 ms


def give_back_free_memory() -> bool:
    """Whether pages were returned; does nothing if the C library has no such call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only in glibc, malloc_trim(3)
    return trim is not None and bool(trim(0))


if __name__ == "__main__":
    main()
