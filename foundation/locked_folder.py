"""Locks: on a folder that only one process at a time may write to, and what the errors of any lock mean.

And scratch folders owned by the processes that made them: the owner holds a lock on a file in the folder, which the
kernel releases when the last process that has it open ends, however it ends. So neither a reused process id nor a clock
can make a folder look abandoned.

Not by filelock: on a file system without flock (Lustre, some NFS) it falls back to a file that a killed process leaves
behind, where trex must refuse the folder; and it can neither lock a file that is open already nor follow no link below
a folder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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


OWNER = ".owner"
DOOMED = ".swept"  # suffix of a folder that is being deleted
UNLOCKED_S = 3600.0  # a folder without a lock file may be brand-new; it is kept this long
MAX_TRIES = 100


@dataclass(frozen=True, slots=True)
class OwnedFolder:
    """A folder, and the descriptor that holds its lock; a child process that inherits it owns the folder too."""

    path: Path
    lock_fd: int

    def remove(self) -> None:
        """Delete the folder with its content and release the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock_fd)


def make_owned(prefix: str, parent: Path) -> OwnedFolder:
    """A new folder whose name starts with `prefix`, owned by this process until it is removed; raises OSError."""
    for _ in range(MAX_TRIES):
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            lock = _take_lock(path)
        except OSError:  # without locks nobody deletes what others may own
            lock = _open_lock(path)
        if lock is not None:
            return OwnedFolder(path, lock)
    raise FileExistsError(f"no folder {parent / prefix}* could be locked; other programs delete them")


def sweep(prefix: str, parent: Path) -> list[Path]:
    """Delete this user's folders with that prefix that no living process owns; return the deleted paths."""
    return [path for path in sorted(parent.glob(f"{prefix}*")) if _is_ours(path) and _delete_abandoned(path)]


def _delete_abandoned(path: Path) -> bool:
    is_known = (path / OWNER).exists() or path.name.endswith(DOOMED)
    if not is_known and _age_s(path) < UNLOCKED_S:
        return False
    try:
        lock = _take_lock(path)
    except OSError:
        return False
    if lock is None:
        return False
    try:
        doomed = path.with_name(path.name.removesuffix(DOOMED) + DOOMED)
        os.rename(path, doomed)  # a process about to lock it sees that it has vanished
        shutil.rmtree(doomed, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _take_lock(path: Path) -> int | None:
    """The descriptor of the folder's lock; None if another process has locked or removed the folder.

    OSError if the file system has no locks.
    """
    lock = _open_lock(path)
    if lock is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(path / OWNER, follow_symlinks=False)):
            return lock
    except OSError as error:
        if not (is_busy(error) or isinstance(error, FileNotFoundError)):
            os.close(lock)
            raise
    os.close(lock)
    return None


def _open_lock(path: Path) -> int | None:
    """The descriptor of the folder's lock file; None if another process has removed the folder."""
    with suppress(FileNotFoundError):
        return os.open(path / OWNER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    return None


def _is_ours(path: Path) -> bool:
    """Whether it is a folder of this user, not a link to one."""
    with suppress(OSError):
        return path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.geteuid()
    return False


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
