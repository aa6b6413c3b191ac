"""What the errors of locks mean; and scratch folders: those of living processes stay, those of dead ones go."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worlds.banks import Telling, filled, small_bank
from trex.bank import disk
from trex.farm.queue.queue_file import transaction
from trex.foundation.errors import RunError
from trex.foundation.locked_folder import DOOMED, OWNER, UNLOCKED_S, lock_folder, make_owned, sweep

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
    with pytest.raises(RunError, match="no locks that work") as info, transaction(tmp_path):
        raise error
    assert "damaged" not in str(info.value)


REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from pathlib import Path
from trex.foundation.locked_folder import make_owned
folder = make_owned("scratch-", Path(sys.argv[1]))
(folder.path / "content").write_text("kept")
print(folder.path, flush=True)
sys.stdin.read()
"""


def owner(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """A living process and the folder that it owns."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(parent)],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.process
def test_the_folder_of_a_living_process_stays_and_goes_once_it_is_killed(tmp_path: Path) -> None:
    process, folder = owner(tmp_path)
    try:
        os.utime(folder, (0, 0))  # however old it looks
        assert sweep("scratch-", tmp_path) == []
        assert (folder / "content").read_text() == "kept"
    finally:
        end(process)
    assert sweep("scratch-", tmp_path) == [folder]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_child_that_has_the_lock_owns_the_folder_after_its_parent_is_gone(tmp_path: Path) -> None:
    folder = make_owned("scratch-", tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(folder.lock_fd,),
    )  # fmt: skip
    os.close(folder.lock_fd)  # as the kernel does when the parent is killed
    assert sweep("scratch-", tmp_path) == []
    end(child)
    assert sweep("scratch-", tmp_path) == [folder.path]


def test_a_folder_that_was_made_this_moment_and_is_not_locked_yet_stays(tmp_path: Path) -> None:
    young, old = tmp_path / "scratch-young", tmp_path / "scratch-old"
    young.mkdir()
    old.mkdir()
    before = young.stat().st_mtime - 2 * UNLOCKED_S
    os.utime(old, (before, before))
    assert sweep("scratch-", tmp_path) == [old]
    assert young.is_dir()


def test_a_sweep_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    half = tmp_path / f"scratch-x{DOOMED}"
    (half / "deep").mkdir(parents=True)
    (half / "deep" / "file").write_text("")
    assert sweep("scratch-", tmp_path) == [half]
    assert list(tmp_path.iterdir()) == []


def test_links_files_and_other_names_are_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / OWNER).write_text("")
    (tmp_path / "scratch-link").symlink_to(elsewhere)
    (tmp_path / "scratch-file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    assert sweep("scratch-", tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_where_nothing_can_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_owned("scratch-", tmp_path / "none")
