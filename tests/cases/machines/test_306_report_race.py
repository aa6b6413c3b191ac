"""`trex report`, or any other reader, while `trex find` ends: the run is sound, and is never called damaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running.command_line import trex_done
from tests.running.runs import draws, run
from trex.report.compare import compare
from trex.runs import checked_lines, draw_log
from trex.runs.checked_lines import CheckedLines
from trex.runs.folder import open_run


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("ended")).folder


@pytest.fixture
def ending(ended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose last five draws, and then its end, come right after the first look at its draws."""
    folder = Path(shutil.copytree(ended, tmp_path / "run"))
    whole, end = draws(folder), (folder / "finished").read_text()
    (folder / "draws.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:-5]))
    (folder / "finished").unlink()
    read = checked_lines.read_checked

    def then_it_ends(path: Path, *seal: str) -> CheckedLines:
        found = read(path, *seal)
        if path.parent == folder:
            (folder / "draws.jsonl").write_bytes(whole)
            (folder / "finished").write_text(end)
        return found

    monkeypatch.setattr(draw_log, "read_checked", then_it_ends)
    return folder


def reported(folder: Path, ended: Path) -> None:
    trex_done("report", folder)
    assert "not finished" not in (folder / "report.html").read_text(), "the page of all draws is kept"


def netcdf(folder: Path, ended: Path) -> None:
    trex_done("report", folder, "--format", "netcdf")


def compared(folder: Path, ended: Path) -> None:
    assert compare([folder, ended]).tests


def exported(folder: Path, ended: Path) -> None:
    trex_done("export", folder, "--format", "coco")


@pytest.mark.parametrize("read", [reported, netcdf, compared, exported])
def test_a_reader_calls_no_sound_run_damaged(
    read: Callable[[Path, Path], None], ending: Path, ended: Path
) -> None:
    read(ending, ended)


def test_a_reader_of_the_earlier_draws_does_not_call_them_all(ending: Path) -> None:
    """No verdict of a finished search on draws that are not all."""
    with open_run(ending, for_writing=False) as folder:
        n = len(draw_log.run_draws(folder))
        assert n == len(draws(ending).splitlines()) - 5
        assert not folder.is_finished
    with open_run(ending, for_writing=False) as folder:
        assert folder.is_finished
