"""What the errors of locks mean: another process holds it, or the file system has none."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

from tests.worlds.banks import Telling, filled, small_bank
from trex.bank import disk
from trex.farm.queue.queue_file import transaction
from trex.foundation.errors import RunError
from trex.foundation.locked_folder import lock_folder
from trex.foundation.owned_folder import make_owned, sweep

BUSY = RunError("another process writes here")
MISSING = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EIO, errno.EBADF)


def broken(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Every lock ends in this error."""

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)
    monkeypatch.setattr(fcntl, "lockf", fail)


@pytest.mark.parametrize("number", [errno.EWOULDBLOCK, errno.EACCES])
def test_a_lock_that_would_block_is_held(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, number)
    with pytest.raises(RunError, match="another process writes here"):
        lock_folder(tmp_path, BUSY)


@pytest.mark.parametrize("number", MISSING, ids=errno.errorcode.__getitem__)
def test_a_file_system_without_locks_is_named(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = filled(tmp_path / "bank", 2)
    (tmp_path / "scratch-").mkdir()
    broken(monkeypatch, number)
    words = "its file system has no locks that work.* use a folder on another file system"
    with pytest.raises(RunError, match=f"cannot lock {tmp_path}: {os.strerror(number)}; {words}"):
        lock_folder(tmp_path, BUSY)
    with pytest.raises(RunError, match=words), transaction(tmp_path):
        pass
    with pytest.raises(RunError, match=words):
        disk.delete(bank)
    assert (bank / "bank.json").exists(), "nobody knows whether it is in use"


def test_what_only_shares_work_or_marks_use_goes_on_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, errno.EINVAL)
    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        bank.render(20)
        assert (inner.rendered, bank.count()) == (20, 20)
    owned = make_owned("scratch-", tmp_path)
    assert sweep("scratch-", tmp_path) == [] and owned.path.is_dir(), "it may be in use"
    owned.remove()


def test_a_queue_that_cannot_be_locked_is_not_called_damaged(tmp_path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMMAP
    with pytest.raises(RunError, match="no locks that work") as told, transaction(tmp_path):
        raise error
    assert "damaged" not in str(told.value)
