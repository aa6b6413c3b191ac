"""A bank that is killed while it grows goes on; programs that fill one bank at once share the work."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.kills import ended, in_child
from tests.worlds.banks import Telling, filled, picture_bytes, small_bank
from trex.bank import disk
from trex.foundation.errors import RunError
from trex.scenes.scene import Scene

N = 48


@pytest.mark.process
@pytest.mark.parametrize("stored", [0, 1, 20, 47])
def test_a_killed_bank_goes_on_and_loses_nothing_stored(stored: int, tmp_path: Path) -> None:
    whole = picture_bytes(filled(tmp_path / "undisturbed", N))
    pid = in_child(lambda: _render_until_stuck(tmp_path, stored))
    assert _is_stopped(pid)
    os.kill(pid, signal.SIGKILL)
    assert ended(pid)
    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        assert bank.count() == len(picture_bytes(bank.path)) == stored
        bank.render(N)
        assert inner.rendered == N - stored
        assert bank.count() == N and picture_bytes(bank.path) == whole


def _render_until_stuck(folder: Path, stored: int) -> None:
    """Fill a bank; stop this process when it has written, but not yet renamed, the picture after so many."""
    texts: list[str] = []
    replace = os.replace

    def slowly(source: str, target: str) -> None:
        if str(target).endswith(".picture"):
            if len(texts) == stored:
                os.kill(os.getpid(), signal.SIGSTOP)
            texts.append(target)
        replace(source, target)

    os.replace = slowly  # type: ignore[assignment]
    with small_bank(folder) as bank:
        bank.render(N)


def _is_stopped(pid: int) -> bool:
    return os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])


@pytest.mark.process
def test_two_programs_share_the_work_and_neither_ends_before_all_is_there(tmp_path: Path) -> None:
    """The other one is held while it renders the first batch, until this one has rendered the two others."""
    begun, go, numbers = os.pipe(), os.pipe(), os.pipe()

    def other() -> None:
        first: list[int] = []

        def hold(_: Sequence[Scene]) -> None:
            if not first:
                first.append(0)
                os.write(begun[1], b"x")
                os.read(go[0], 1)

        inner = Telling(hold)
        with small_bank(tmp_path, inner) as bank:
            bank.render(N)
            os.write(numbers[1], bytes([inner.rendered, bank.count()]))

    pid = in_child(other)
    assert os.read(begun[0], 1) == b"x"

    def on_progress(step: str, done: int, total: int | None, /, *facts: str) -> None:
        if done == 32:
            os.write(go[1], b"x")

    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        bank.render(N, on_progress)
        assert (inner.rendered, bank.count()) == (32, N)
    assert tuple(os.read(numbers[0], 2)) == (16, N)
    assert not ended(pid)
    for end in (*begun, *go, *numbers):
        os.close(end)


@pytest.mark.process
def test_a_program_that_is_killed_holds_up_no_other(tmp_path: Path) -> None:
    pid = in_child(lambda: _render_until_stuck(tmp_path, 3))
    assert _is_stopped(pid)  # it holds the first batch
    passes: list[int] = []

    def on_progress(step: str, done: int, total: int | None, /, *facts: str) -> None:
        passes.append(done)
        if done == 32:
            os.kill(pid, signal.SIGKILL)

    with small_bank(tmp_path) as bank:
        bank.render(N, on_progress)
        assert passes == [16, 32, 48] and bank.count() == N
    assert ended(pid)


@pytest.mark.process
@pytest.mark.timeout(60)
def test_a_program_waits_for_no_batch_that_is_done(tmp_path: Path) -> None:
    pid = in_child(lambda: _render_until_stuck(tmp_path, 20))
    assert _is_stopped(pid)  # it holds the second batch
    inner = Telling()
    try:
        with small_bank(tmp_path, inner) as bank:
            bank.render(16)
            assert inner.rendered == 0
    finally:
        os.kill(pid, signal.SIGKILL)
    assert ended(pid)


@pytest.mark.process
def test_a_bank_that_is_opened_during_its_deletion_is_begun_anew_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the other program went on in the bank that was being deleted, and another deletion took it too."""
    path = filled(tmp_path, 5)
    go, opening = os.pipe(), os.pipe()

    def other() -> None:
        lock = fcntl.flock

        def signal_and_lock(file: int, how: int) -> None:
            fcntl.flock = lock
            os.write(opening[1], b"x")
            lock(file, how)

        os.close(go[1])
        os.read(go[0], 1)
        fcntl.flock = signal_and_lock  # type: ignore[assignment]
        with small_bank(tmp_path) as bank:
            bank.render(3)
            os.kill(os.getpid(), signal.SIGSTOP)

    def prune(folder: Path, most: int) -> None:
        os.write(go[1], b"x")
        os.read(opening[0], 1)  # the other one has opened the lock file, and asks for its lock next
        real(folder, most)

    pid, real = in_child(other), disk.prune
    os.close(opening[1])
    monkeypatch.setattr(disk, "prune", prune)
    assert disk.delete(path)
    monkeypatch.undo()
    assert _is_stopped(pid)
    try:
        assert not disk.delete(path), "it is open"
        assert len(picture_bytes(path)) == 3
    finally:
        os.kill(pid, signal.SIGKILL)
    assert ended(pid)
    assert disk.delete(path) and not path.exists()
    for end in (*go, opening[0]):
        os.close(end)


def test_a_bank_that_was_deleted_and_begun_anew_meanwhile_is_not_deleted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: two programs delete it, and the second one has locked a file that the first one has deleted."""
    path, lock = filled(tmp_path, 5), fcntl.flock
    begun = []

    def late(file: int, how: int) -> None:
        monkeypatch.undo()
        assert disk.delete(path)
        begun.append(small_bank(tmp_path))
        begun[0].render(3)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert not disk.delete(path), "it is open"
    assert len(picture_bytes(path)) == 3
    begun[0].close()


def test_a_bank_whose_folder_is_gone_is_a_named_error(tmp_path: Path) -> None:
    with small_bank(tmp_path) as bank:
        shutil.rmtree(bank.path)
        with pytest.raises(
            RunError, match=r"cannot write .*No such file.*everything rendered before is kept"
        ):
            bank.render(3)
