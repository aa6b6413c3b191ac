"""Crowded scenes are drawn by other processes: the same scenes, whatever becomes of these."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.worlds.banks import Telling
from trex.bank.bank import LEAST_AHEAD, Bank, bank_of
from trex.bank.drawn import member
from trex.query.schema import RenderSection
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

CROWDED = ScenePrior(n_objects=(9, 9))
WAIT_S = 60.0


def opened(folder: Path, prior: ScenePrior = CROWDED, processes: int = 2) -> Bank:
    look = RenderSection(preset="fake", processes=processes)
    return bank_of(prior, look, folder, renderer=Telling())


@pytest.fixture(scope="module")
def own() -> list[Scene]:
    """The members as one process draws them."""
    return [member(CROWDED, 0, i) for i in range(LEAST_AHEAD)]


def never(prior: ScenePrior, seed: int, i: int) -> Scene:
    raise AssertionError(f"this process draws member {i} itself")


@pytest.mark.process
def test_other_processes_draw_the_same_scenes(
    own: list[Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: files of the current folder were imported by them in place of the library's."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "pickle.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\n")
    monkeypatch.chdir(here)
    with opened(tmp_path) as bank:
        monkeypatch.setattr(bank._drawn, "_draw", lambda i: never(CROWDED, 0, i))
        bank.draw_ahead(range(LEAST_AHEAD))
        assert bank.scenes(range(LEAST_AHEAD)) == own
    assert not (tmp_path / "marker").exists()


@pytest.mark.process
def test_scenes_are_drawn_here_if_the_other_processes_end(own: list[Scene], tmp_path: Path) -> None:
    with opened(tmp_path) as bank:
        bank.draw_ahead(range(LEAST_AHEAD))
        assert bank._ahead is not None
        for drawer in bank._ahead._drawers:
            drawer.kill()
        assert bank.scenes(range(LEAST_AHEAD)) == own


@pytest.mark.process
def test_a_process_that_hangs_is_given_up(
    own: list[Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trex.bank.ahead.PATIENCE_S", 0.5)
    with opened(tmp_path) as bank:
        bank.draw_ahead(range(LEAST_AHEAD))
        assert bank._ahead is not None
        for drawer in (drawers := list(bank._ahead._drawers)):
            os.kill(drawer.pid, 19)
        assert bank.scenes(range(LEAST_AHEAD)) == own
        assert all(drawer.returncode is not None for drawer in drawers)


@pytest.mark.parametrize(
    ("prior", "processes", "n"),
    [
        (ScenePrior(n_objects=(3, 4)), 2, LEAST_AHEAD),
        (CROWDED, 1, LEAST_AHEAD),
        (CROWDED, 2, LEAST_AHEAD - 1),
        (CROWDED.where(lambda scene: True, "any"), 2, LEAST_AHEAD),
    ],
    ids=["quickly drawn", "one process", "few", "a condition"],
)
def test_no_process_is_started_where_it_does_not_pay_or_cannot_draw(
    prior: ScenePrior, processes: int, n: int, tmp_path: Path
) -> None:
    with opened(tmp_path, prior, processes) as bank:
        bank.draw_ahead(range(n))
        assert bank._ahead is None


KILLED = """
import os, sys
from pathlib import Path
from tests.trex.bank.test_ahead import opened
bank = opened(Path(sys.argv[1]))
bank.draw_ahead(range(100_000))
print(*(drawer.pid for drawer in bank._ahead._drawers), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.process
def test_they_end_with_the_process_that_has_started_them(tmp_path: Path) -> None:
    """Planted bug: after a kill they went on for hours."""
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    end = time.monotonic() + WAIT_S
    while any(map(_runs, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(pids) == 2 and not any(map(_runs, pids)), done.stderr


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return "trex.bank.ahead" in Path(f"/proc/{pid}/cmdline").read_text()
    return False
