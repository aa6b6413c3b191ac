"""How a bank's pictures are kept: below a limit, shared among programs, and never dropped silently."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from trex.bank.disk import (
    BATCHES,
    IN_USE,
    LIMIT,
    Due,
    is_in_place,
    max_bytes,
    open_lock,
    prune_banks,
    stored_banks,
)
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import DiskFullError
from trex.foundation.locked_folder import closed_on_error
from trex.render.cache_bound import LOOKS

KEPT = "everything rendered before is kept"
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # of a file system without locks


class BankBound:
    """Keeps all banks of a folder below the limit by deleting those that are not in use, least recently used first."""

    def __init__(self, own: Path) -> None:
        self.own, self.max_bytes = own, max_bytes()
        self._room = 0  # bytes until the next check

    def added(self, size: int) -> None:
        """Count bytes written; InputError if this bank alone exceeds the limit."""
        self._room -= size
        if self._room < 0:
            self._room = min(self._make_room(), self.max_bytes // LOOKS)

    def _make_room(self) -> int:
        done = prune_banks(self.own.parent, Due(most=self.max_bytes))
        room = self.max_bytes - sum(bank.size for bank in (*done.left, *done.busy))
        if room < 0:
            raise InputError(
                f"the banks in {self.own.parent} reached their limit of {self.max_bytes / (1 << 30):.3g} GiB, and the "
                f"others are deleted or in use; {KEPT}. Raise {LIMIT}, or ask for fewer scenes"
            )
        return room


class Uncounted:
    """The bound of pictures that are kept only while there is room, which was checked before."""

    def added(self, size: int) -> None:
        """Delete nothing."""


def has_room(folder: Path) -> bool:
    """Whether the banks in a folder are below their limit."""
    return sum(bank.size for bank in stored_banks(folder)) < max_bytes()


def not_kept(error: OSError, path: Path) -> NoReturn:
    """The error for a picture or scene that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise DiskFullError(
            f"no space left on the disk of {path}; {KEPT}. Free some space (trex bank prune), and give the same "
            "command again"
        ) from error
    raise RunError(
        f"cannot write {path}: {error.strerror or error}; {KEPT}. Name another folder with --folder or TREX_BANK"
    ) from error


class Use:
    """A mark that a bank is in use, until closed or until this process ends: nobody deletes the bank meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Wait until nobody deletes the bank, and make its folder if it is gone; raises OSError."""
        while (handle := _used(folder)) is None:
            pass
        self._handle = handle

    def close(self) -> None:
        """Take the mark away."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def _used(folder: Path) -> int | None:
    """The descriptor of a bank's locked file; None if the bank was deleted before it was locked."""
    with suppress(FileExistsError):
        os.mkdir(folder)
    try:
        handle = open_lock(folder / IN_USE)
    except FileNotFoundError:
        return None
    with closed_on_error(handle):
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        is_used = is_in_place(handle, folder / IN_USE)
    if not is_used:
        os.close(handle)
    return handle if is_used else None


class Batches:
    """Locks on batches of members, so that several programs that fill one bank share the work.

    A lock is a byte of one file (POSIX record locks, which NFS has too); the kernel frees those of a killed program.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / BATCHES

    def __enter__(self) -> Self:
        try:
            self._handle = open_lock(self._path)
        except OSError as error:
            not_kept(error, self._path)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)

    def take(self, batch: int, *, wait: bool) -> bool:
        """Lock a batch; False if another program has it and `wait` is off. Without locks, every program has all."""
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, batch)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        return True

    def free(self, batch: int) -> None:
        """Unlock a batch."""
        with suppress(OSError):
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, batch)
