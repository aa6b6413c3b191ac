"""A suspended program that holds a batch of a bank: it is named, and nobody waits for it for ever."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running.kills import in_child
from tests.worlds.banks import Telling, filled, picture_bytes, small_bank
from trex.bank import store
from trex.bank.store import Batches
from trex.scenes.scene import Scene

N = 48
FEW = range(17)  # a batch of 16, and one more
pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


@contextmanager
def suspended(work: Callable[[], object]) -> Iterator[int]:
    """The id of a process that has suspended itself in its work; afterwards it goes on, and has to end well."""
    pid = in_child(work)
    status = 0
    try:
        assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
        yield pid
        os.kill(pid, signal.SIGCONT)
        status = os.waitpid(pid, 0)[1]
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def fill_and_stop(folder: Path) -> None:
    """Fill a bank; suspend this process while it holds the second batch."""
    inner = Telling()

    def stop(_: Sequence[Scene]) -> None:
        if inner.rendered == 16:
            os.kill(os.getpid(), signal.SIGSTOP)

    inner._before = stop
    with small_bank(folder, inner) as bank:
        bank.render(N)


def test_a_suspended_filler_of_a_bank(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = picture_bytes(filled(tmp_path / "undisturbed", N))
    inner = Telling()
    with suspended(lambda: fill_and_stop(tmp_path)) as pid, small_bank(tmp_path, inner) as bank:
        bank.render(N)
        assert (inner.rendered, bank.count()) == (32, N)
        assert picture_bytes(bank.path) == whole
        assert f"process {pid}, which has scenes 16 to 31 of the bank" in caplog.text
        assert "is suspended" in caplog.text
    assert picture_bytes(bank.path) == whole


def test_a_filler_of_which_nothing_is_known_is_waited_for_while_it_does_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As in a frozen container, or on another machine: the lock says no more than that it is held."""
    looks: list[int] = []

    def progress() -> int:
        looks.append(len(looks))
        return min(looks[-1], 3)

    with suspended(lambda: fill_and_stop(tmp_path)), monkeypatch.context() as patch:
        (folder,) = (path.parent for path in tmp_path.glob("*/batches"))
        clock = iter(range(0, 10_000, 50))
        patch.setattr(store, "lock_holder", lambda file, byte: 0)
        patch.setattr(store, "monotonic", lambda: next(clock))
        patch.setattr(store, "sleep", lambda _: None)
        with Batches(folder) as locks:
            assert not locks.wait(16, "a batch", progress, patience_s=120.0)
    assert looks == [*range(7)], "three looks with progress, and two minutes without"
    assert "waiting for another process, which has a batch" in caplog.text
    assert "has done nothing for 120 s" in caplog.text
