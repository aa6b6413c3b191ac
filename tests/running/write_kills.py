"""Processes that kill themselves by SIGKILL at a chosen one of their writing calls."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FrameType
from typing import Any

from tests.running.kills import ended, in_child

# Calls into C that change a file or a folder; a kill before each one covers a kill after the one before it.
WRITES = {"write", "flush", "close", "fsync", "mkdir", "chmod", "rename", "replace", "unlink", "rmdir"}


def writing_calls(work: Callable[[], object]) -> list[str]:
    """The names of the writing calls that a forked process makes until the work is done, in order."""
    read, write = os.pipe()

    def counted() -> None:
        names: list[str] = []
        _watched(work, names.append)
        os.write(write, " ".join(names).encode())

    assert not ended(in_child(counted))
    os.close(write)
    with os.fdopen(read) as stream:
        return stream.read().split()


def kill_before(call: int, work: Callable[[], object]) -> bool:
    """Do the work in a forked process that sends itself SIGKILL before this writing call; whether it was killed."""

    def killed() -> None:
        left = call

        def count(name: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        _watched(work, count)

    return ended(in_child(killed))


def _watched(work: Callable[[], object], on_write: Callable[[str], None]) -> None:
    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call" and isinstance(arg, BuiltinFunctionType) and arg.__name__ in WRITES:
            on_write(arg.__name__)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
