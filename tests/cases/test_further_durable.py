"""Further situations of the same kinds: permissions, locks, homes, and files that are changed behind a run's back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running.command_line import trex_done

QUERY = """
question = "How many red things are there?"
answer = "2"
scene.objects = 3
model.name = "fake"
render.preset = "fake"
[search]
bank = 16
prior_scenes = 16
chains = 2
steps = 6
control = false
"""


@pytest.fixture(params=[0o002, 0o077], ids=["group", "private"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask under which all files are made."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_the_permissions_of_all_files_follow_the_umask(
    umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that shares runs and banks can write them; nobody else can read what is private."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.setenv("TREX_BANK", str(place / "banks"))
    monkeypatch.setenv("TREX_CACHE", str(place / "cache"))
    (place / "q.toml").write_text(QUERY)
    run = place / "runs" / "one"
    trex_done("find", place / "q.toml", "--out", run, "--no-large")
    trex_done("bank", "render", place / "q.toml", "--scenes", 16, "--look", "fake")
    trex_done("export", run, "--format", "coco")
    trex_done("report", run, "--format", "netcdf")
    trex_done("queue", "add", place / "q.toml", "--runs", place / "queued")
    trex_done("suite", "add", run, "--to", place / "suite")
    wrong = {
        str(path.relative_to(place)): oct(mode)
        for path in place.rglob("*")
        if (mode := stat.S_IMODE(path.stat().st_mode)) != (0o777 if path.is_dir() else 0o666) & ~umask
    }
    assert not wrong
    assert len(list(place.rglob("*.picture"))) >= 16 and (place / "queued" / "queue.sqlite").exists()
