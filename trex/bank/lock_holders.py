"""Who holds a lock on a byte of a file, and whether that process runs: for messages, and to wait for no dead end."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

# Linux, fcntl(2), struct flock: type, whence, start, length, process id; others order them otherwise.
FLOCK = struct.Struct("hhqqi4x")


def lock_holder(file: int, byte: int) -> int:
    """The id of the process that has locked a byte of an open file; 0 if none has, or the system does not say."""
    if sys.platform != "linux":
        return 0
    data = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    with suppress(OSError):
        kind, _, _, _, pid = FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, data))
        return max(int(pid), 0) if kind != fcntl.F_UNLCK else 0
    return 0


def is_suspended(pid: int) -> bool:
    """Whether a process on this machine is stopped, as by Ctrl-Z or a debugger; False if it is not known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] in (["T"], ["t"])  # proc_pid_stat(5)


def named(pid: int) -> str:
    """A process in words."""
    return f"process {pid}" if pid else "another process"
