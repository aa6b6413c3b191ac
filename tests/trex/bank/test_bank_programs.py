"""A bank that is killed while it grows goes on; programs that fill one bank at once share the work."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.kills import ended, in_child
from tests.worlds.banks import Telling, filled, picture_bytes, small_bank
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
    made: list[str] = []
    replace = os.replace

    def slowly(source: str, target: str) -> None:
        if str(target).endswith(".picture"):
            if len(made) == stored:
                os.kill(os.getpid(), signal.SIGSTOP)
            made.append(target)
        replace(source, target)

    os.replace = slowly  # type: ignore[assignment]
    with small_bank(folder) as bank:
        bank.render(N)


def _is_stopped(pid: int) -> bool:
    return os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])


@pytest.mark.process
def test_two_programs_share_the_work_and_neither_ends_before_all_is_there(tmp_path: Path) -> None:
    """The other one is held while it renders the first batch, until this one has rendered the two others."""
    begun, go, told = os.pipe(), os.pipe(), os.pipe()

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
            os.write(told[1], bytes([inner.rendered, bank.count()]))

    pid = in_child(other)
    assert os.read(begun[0], 1) == b"x"

    def tell(done: int, _: int) -> None:
        if done == 32:
            os.write(go[1], b"x")

    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        bank.render(N, tell)
        assert (inner.rendered, bank.count()) == (32, N)
    assert tuple(os.read(told[0], 2)) == (16, N)
    assert not ended(pid)
    for end in (*begun, *go, *told):
        os.close(end)


@pytest.mark.process
def test_a_program_that_is_killed_holds_up_no_other(tmp_path: Path) -> None:
    pid = in_child(lambda: _render_until_stuck(tmp_path, 3))
    assert _is_stopped(pid)  # it holds the first batch
    passes: list[int] = []

    def tell(done: int, _: int) -> None:
        passes.append(done)
        if done == 32:
            os.kill(pid, signal.SIGKILL)

    with small_bank(tmp_path) as bank:
        bank.render(N, tell)
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
