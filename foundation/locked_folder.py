"""Locks: on a folder that only one process at a time may write to, and what the errors of any lock mean.

Not by filelock: on a file system without flock (Lustre, some NFS) it falls back to a file that a killed process leaves
behind, where trex must refuse the folder; and it can neither lock a file that is open already nor follow no link below
a folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import disk_error, open_inside

LOCK = "lock"
POLL_S = 0.05
BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)  # flock(2), fcntl(2): another process holds it


def lock_folder(folder: Path, busy: TrexError) -> int:
    """A descriptor that holds the lock of a folder; `busy` is raised if another process holds it.

    The kernel releases it when the descriptor is closed or this process ends, however it ends. RunError if the lock
    file cannot be made, or if the file system has no locks.
    """
    try:
        lock = open_inside(folder, [LOCK], os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise disk_error(error, folder) from error
    with closed_on_error(lock):
        hold(lock, folder, busy)
    return lock


def hold(file: int, place: Path, busy: TrexError, *, wait_s: float = 0.0) -> None:
    """Lock an open file until it is closed; `busy` is raised if another process still holds it after `wait_s`.

    RunError with the name of the place if its file system has no locks.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not is_busy(error):
                raise no_locks(error, place) from error
            if time.monotonic() >= deadline:
                raise busy from error
        time.sleep(min(POLL_S, wait_s))


def is_busy(error: OSError) -> bool:
    """Whether a lock was refused because another process holds it; any other error says that there are no locks."""
    return error.errno in BUSY


def no_locks(error: Exception, place: Path) -> RunError:
    """The error for a place whose file system has no locks, or none that work."""
    reason = getattr(error, "strerror", None) or error
    return RunError(
        f"cannot lock {place}: {reason}; its file system has no locks that work, so two programs could write there at "
        "once; use a folder on another file system"
    )


@contextmanager
def closed_on_error(lock: int) -> Iterator[None]:
    """Release a folder's lock if what follows raises: this process could not open the folder again."""
    try:
        yield
    except BaseException:
        os.close(lock)
        raise
