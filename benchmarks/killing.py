"""Commands of `trex` in forks of this process, struck at a random moment: killed, stopped, or their Blender killed."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

STOPPED = 130  # the exit code of a command that SIGINT or SIGTERM has ended
STOPS = ("SIGTERM", "SIGINT")
LOOK_S = 0.05
LATE_S = 0.3  # a disturbance comes up to so late after the bytes that it waits for
STARTUP_S = 8.0
HUNG_S = 900.0  # on a machine that others use too


def start(words: list[str], log: Path) -> int:
    """The process id of a fork that carries out the command, its words in the log."""
    from trex.commands.shell.app import app

    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        sys.stdout = sys.stderr = os.fdopen(handle, "w", buffering=1)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
        app(words)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        os._exit(code)


def at_a_moment(pid: int, place: Path, growth: int, rng: random.Random) -> bool:
    """Wait for a random moment before the place has grown by so many bytes; whether the process still runs then.

    One moment in four is one while it starts.
    """
    began, size = time.monotonic(), bytes_below(place)
    until = began + (rng.uniform(0, STARTUP_S) if rng.random() < 0.25 else HUNG_S)
    wanted = size + rng.uniform(0, growth)
    while bytes_below(place) < wanted and time.monotonic() < until:
        if has_ended(pid):
            return False
        time.sleep(LOOK_S)
    time.sleep(rng.uniform(0, LATE_S))
    return not has_ended(pid)


def strike(kind: str, pid: int, rng: random.Random) -> list[str]:
    """Do this to a process; what was done, one word for each process that was hit."""
    children = children_of(pid)
    victims = {"Blender": children, "double kill": [*children, pid]}.get(kind, [pid])
    rng.shuffle(victims)
    number = signal.Signals[kind] if kind in STOPS else signal.SIGKILL
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, number)
    if kind in STOPS:
        return [kind]
    return [
        "parent" if victim == pid else "child of a killed parent" if pid in victims else "Blender"
        for victim in victims
    ]


def finish(pid: int) -> int:
    """Waits for the process; its exit code, or the signal that has ended it as a negative number."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def has_ended(pid: int) -> bool:
    """Whether it has; it is still to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def children_of(pid: int) -> list[int]:
    """The processes that it has started and that run."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, task.read_text(encoding="ascii").split())
    return found


def bytes_below(place: Path) -> int:
    """The size of all files in a folder that a process is just writing to."""
    total = 0
    for folder, _, files in os.walk(place):
        for name in files:
            with suppress(OSError):
                total += (Path(folder) / name).lstat().st_size
    return total


def fill(path: Path) -> None:
    """Fill a file system by a file."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
