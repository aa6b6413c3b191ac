"""How a bank's pictures are kept: below a limit, shared among programs, and never dropped silently."""

from __future__ import annotations

import fcntl
import logging
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
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
from trex.foundation.files import DiskFullError, is_disk_full
from trex.foundation.locked_folder import closed_on_error, is_busy
from trex.render.cache_folder import LOOKS

log = logging.getLogger(__name__)
KEPT = "everything rendered before is kept"
POLL_S = 0.2
DELETED_S = 120.0  # for longer, nobody deletes a bank
REPORTED_S = 10.0  # a program that waits longer says for whom
PATIENCE_S = 120.0  # for a program that makes no progress with its batch
# Linux, fcntl(2), struct flock: type, whence, start, length, process id; others order them otherwise.
FLOCK = struct.Struct("hhqqi4x")


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
        number = self.max_bytes - sum(bank.size for bank in (*done.left, *done.busy))
        if number < 0:
            raise InputError(
                f"the banks in {self.own.parent} reached their limit of {self.max_bytes / (1 << 30):.3g} GiB, and the "
                f"others are deleted or in use; {KEPT}. Raise {LIMIT}, or ask for fewer scenes"
            )
        return number


class Uncounted:
    """The bound of pictures that are kept only while there is room, which was checked before."""

    def added(self, size: int) -> None:
        """Delete nothing."""


def has_room(folder: Path) -> bool:
    """Whether the banks in a folder are below their limit."""
    return sum(bank.size for bank in stored_banks(folder)) < max_bytes()


def not_kept(error: OSError, path: Path) -> NoReturn:
    """The error for a picture or scene that cannot be written."""
    if is_disk_full(error):
        raise DiskFullError(
            f"no space left on the disk of {path}; {KEPT}. Free some space (trex cache prune-banks), and give the same "
            "command again"
        ) from error
    raise RunError(
        f"cannot write {path}: {error.strerror or error}; {KEPT}. Name another folder with --bank or TREX_BANK"
    ) from error


class Use:
    """A mark that a bank is in use, until closed or until this process ends: nobody deletes the bank meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Wait until nobody deletes the bank, and make its folder if it is gone.

        Raises OSError, or RunError if that takes too long. On a file system without locks, the mark does nothing.
        """
        began = monotonic()
        while (handle := _used(folder)) is None:
            if monotonic() - began > DELETED_S:
                raise RunError(
                    f"another process has been deleting the bank {folder} for {DELETED_S:g} s; if it is suspended, "
                    "continue or end it"
                )
            sleep(POLL_S)
        self._handle = handle

    def close(self) -> None:
        """Take the mark away."""
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def _used(folder: Path) -> int | None:
    """The descriptor of a bank's locked file; None if another program deletes the bank, or has done so meanwhile."""
    with suppress(FileExistsError):
        os.mkdir(folder)
    try:
        handle = open_lock(folder / IN_USE)
    except FileNotFoundError:
        return None
    with closed_on_error(handle):
        is_used = _is_shared(handle) and is_in_place(handle, folder / IN_USE)
    if not is_used:
        os.close(handle)
    return handle if is_used else None


def _is_shared(handle: int) -> bool:
    """Whether nobody holds the mark alone; True without locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return not is_busy(error)
    return True


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

    def take(self, batch: int) -> bool:
        """Lock a batch; False if another program has it. Without locks, every program has all."""
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, batch)
        except OSError as error:
            return not is_busy(error)
        return True

    def wait(self, batch: int, what: str, progress: Callable[[], int], patience_s: float) -> bool:
        """Lock a batch once the program that has it frees it or ends; False if one is not to wait for that program.

        It is not waited for if it is suspended, or if `progress` has not changed for `patience_s`; a warning names
        it and `what` it holds.
        """
        began = since = monotonic()
        last, is_reported = progress(), False
        while not self.take(batch):
            holder, now = self.holder(batch), monotonic()
            if (number := progress()) != last:
                last, since = number, now
            if is_suspended(holder) or now - since > patience_s:
                how = "is suspended" if is_suspended(holder) else f"has done nothing for {patience_s:g} s"
                log.warning("%s, which has %s, %s; doing these here, too", named(holder), what, how)
                return False
            if not is_reported and now - began > REPORTED_S:
                is_reported = True
                log.warning("waiting for %s, which has %s", named(holder), what)
            sleep(POLL_S)
        return True

    def holder(self, batch: int) -> int:
        """The id of the process that has locked a batch, 0 if the system does not say."""
        return lock_holder(self._handle, batch)

    def free(self, batch: int) -> None:
        """Unlock a batch."""
        with suppress(OSError):
            fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, batch)


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
