"""A SIGKILL of `trex suite add` or `run`, at many of its writing calls: what is left is whole, old or absent."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import BuiltinFunctionType, FrameType
from typing import Any

import pytest

from tests.running.command_line import trex, trex_done
from tests.running.kills import ended, in_child
from tests.running.runs import without_reports
from tests.trex.suite.suites import tree
from trex.foundation.errors import InputError
from trex.suite import add as adding
from trex.suite import look as last_run
from trex.suite.batch import check_files, read_batches
from trex.suite.look import LastRun, read_last_run, write_last_run

# Calls into C that change a file or a folder; a kill before each one covers a kill after the one before it.
WRITES = {"write", "flush", "close", "fsync", "mkdir", "chmod", "rename", "replace", "unlink", "rmdir"}
MOMENTS = 12
pytestmark = pytest.mark.process


def writing_calls(work: Callable[[], object]) -> list[str]:
    """The names of the writing calls that a forked process makes until the work is done, in order."""
    read, write = os.pipe()

    def counted() -> None:
        names: list[str] = []
        _watched(work, names.append)
        os.write(write, " ".join(names).encode())

    assert not ended(in_child(counted))
    os.close(write)
    with os.fdopen(read) as stream:
        return stream.read().split()


def kill_before(call: int, work: Callable[[], object]) -> bool:
    """Do the work in a forked process that sends itself SIGKILL before this writing call; whether it was killed."""

    def killed() -> None:
        left = call

        def count(name: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        _watched(work, count)

    return ended(in_child(killed))


def _watched(work: Callable[[], object], on_write: Callable[[str], None]) -> None:
    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call" and isinstance(arg, BuiltinFunctionType) and arg.__name__ in WRITES:
            on_write(arg.__name__)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with without_reports():
        yield


def moments(calls: Sequence[str], last: int) -> list[int]:
    """Calls from the first to the last, evenly spaced, and those among the last so many that publish or print."""
    n = len(calls)
    publish = {at for at in range(max(0, n - last), n) if calls[at] not in ("close", "flush")}
    return sorted({round(k * (n - 1) / (MOMENTS - 1)) for k in range(MOMENTS)} | publish)


def check_add(searched: Path, path: Path, folder: Path) -> int:
    """Kill `trex suite add` at many moments; how many batches were absent. An error if one is half-written."""

    def add(suite: Path) -> Callable[[], object]:
        return lambda: trex("suite", "add", searched, "--to", suite)

    calls, absent = writing_calls(add(folder / "counted")), 0
    assert len(calls) > 2 * MOMENTS and tree(folder / "counted") == tree(path)
    for at in moments(calls, 10):
        suite = folder / f"killed-{at}"
        assert kill_before(at, add(suite))
        batches = read_batches(suite) if suite.exists() else ()
        for batch in batches:
            check_files(batch)
        absent += not batches
        trex_done("suite", "add", searched, "--to", suite)
        assert tree(suite) == tree(path), at
    return absent


@pytest.mark.slow
def test_a_kill_leaves_a_batch_whole_or_absent_and_the_same_command_makes_it(
    searched: Path, made: Path, tmp_path: Path
) -> None:
    assert check_add(searched, made, tmp_path) >= MOMENTS - 2


@pytest.mark.slow
def test_a_batch_that_grows_in_its_place_is_noticed(
    searched: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: a batch is copied to its place file by file, where a rename would publish it whole."""

    def copied(place: Path, fill: Callable[[Path], str]) -> Path:
        scratch = place.with_name(".scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        whole = place.with_name(fill(scratch))
        (whole / "images").mkdir(parents=True, exist_ok=True)
        for path in [scratch / "batch.json", *sorted(scratch.rglob("*"))]:
            target = whole / path.relative_to(scratch)
            target.mkdir(parents=True, exist_ok=True) if path.is_dir() else target.write_bytes(
                path.read_bytes()
            )
        shutil.rmtree(scratch)
        return whole

    monkeypatch.setattr(adding, "write_whole", copied)
    with pytest.raises((AssertionError, InputError)):
        check_add(searched, made, tmp_path)


def check_run(suite: Path) -> set[str]:
    """Kill `trex suite run` at many moments; the models of the records that were left."""
    keys = [batch.key(scene) for batch in read_batches(suite) for scene in batch.content.scenes]
    old = LastRun("old", dict.fromkeys(keys, False))

    def ask() -> object:
        return trex("suite", "run", suite, "--model", "fake")

    ask()  # imports everything, so that each process makes the same calls
    write_last_run(suite, old)
    left = set()
    for at in moments(writing_calls(ask), 30):
        write_last_run(suite, old)
        assert kill_before(at, ask)
        found = read_last_run(suite)
        assert found in (old, LastRun("fake", dict.fromkeys(keys, True), "fake")), at
        left.add(found.model)
        assert trex("suite", "run", suite, "--model", "fake").exit_code == (3 if found == old else 0)
    return left


def test_a_kill_leaves_the_old_record_or_the_new_one(suite: Path) -> None:
    assert check_run(suite) == {"old", "fake"}
    assert not [path for path in suite.iterdir() if path.suffix == ".xml"]
    assert json.loads((suite / "last_run.json").read_text())["looks"]["stored"]["model"] == "fake"


def test_a_record_that_is_written_in_its_place_is_noticed(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: the file is emptied, and then filled."""
    monkeypatch.setattr(last_run, "write_atomic", lambda path, data: path.write_bytes(data))
    with pytest.raises((AssertionError, InputError)):
        check_run(suite)
