"""Scratch folders owned by the processes that made them, and the removal of those whose owners have ended.

The owner holds a lock (flock) on a file in the folder. The kernel releases it when the last process that has it open
ends, however it ends, so neither a reused process id nor a clock can make a folder look abandoned.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.locked_folder import is_busy

LOCK = ".owner"
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
    is_known = (path / LOCK).exists() or path.name.endswith(DOOMED)
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
        if os.path.samestat(os.fstat(lock), os.stat(path / LOCK, follow_symlinks=False)):
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
        return os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
