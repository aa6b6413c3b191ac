"""A lock on a folder that only one process at a time may write to."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trex.foundation.errors import TrexError
from trex.foundation.files import disk_error, open_inside

LOCK = "lock"


def lock_folder(folder: Path, busy: TrexError) -> int:
    """A descriptor that holds the lock of a folder; `busy` is raised if another process holds it.

    The kernel releases it when the descriptor is closed or this process ends, however it ends. RunError if the lock
    file cannot be made.
    """
    try:
        lock = open_inside(folder, [LOCK], os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise disk_error(error, folder) from error
    with closed_on_error(lock):
        hold(lock, busy)
    return lock


def hold(file: int, busy: TrexError) -> None:
    """Lock an open file until it is closed; `busy` is raised if another process holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise busy from error


@contextmanager
def closed_on_error(lock: int) -> Iterator[None]:
    """Release a folder's lock if what follows raises: this process could not open the folder again."""
    try:
        yield
    except BaseException:
        os.close(lock)
        raise
