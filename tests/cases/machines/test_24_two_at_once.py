"""Two programs that begin a run in one folder: the slower one says so in one sentence, in whichever moment."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import QUERY
from trex.runs import folder
from trex.runs.folder import open_run
from trex.runs.manifest import Manifest

SMALL = QUERY + "bank = 0\ncontrol = false\n"


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "q.toml"
    path.write_text(SMALL)
    return path


def test_the_other_one_is_faster_by_a_moment(
    query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, fill = tmp_path / "run", folder._fill

    def late(scratch: Path, text: str, manifest: Manifest) -> None:
        fill(scratch, text, manifest)
        shutil.copytree(scratch, run)  # what the other process has just renamed to its place

    monkeypatch.setattr(folder, "_fill", late)
    refused(trex("find", query, "--out", run), f"another process is writing to {run}; wait for it or stop it")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.toml", "run"], "nothing is left behind"


def test_the_other_one_is_there_already(query: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert trex("find", query, "--out", run).exit_code == 0
    with open_run(run, for_writing=True):
        refused(
            trex("find", query, "--out", run), f"another process is writing to {run}; wait for it or stop it"
        )


def test_the_other_one_comes_between_two_looks(
    query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was looked at first: a run of the same query is never called one of another query."""
    run, done = tmp_path / "run", tmp_path / "done"
    assert trex("find", query, "--out", done).exit_code == 0
    looks: list[Path] = []
    there = folder.is_run

    def is_run(path: Path) -> bool:
        looks.append(path)
        found = there(path)
        if len(looks) == 1:
            shutil.copytree(done, run)
        return found

    monkeypatch.setattr(folder, "is_run", is_run)
    monkeypatch.setattr("trex.finding.find.is_run", is_run)
    monkeypatch.setattr(folder, "lock_folder", _busy)
    result = trex("find", query, "--out", run)
    assert "another query" not in result.output
    assert looks and result.exit_code == 2


def _busy(path: Path, busy: Exception) -> int:
    raise busy
