"""Scenes that other processes draw are those that this one would draw, whatever becomes of these processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from trex.bank.drawn import member
from trex.render import ahead
from trex.render.ahead import LEAST, LEAST_CROWDED, Drawer, drawers, drawn_ahead
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

CROWDED = ScenePrior(n_objects=(9, 9))
N = 24
DRAW = partial(member, CROWDED, 0)
WAIT_S = 60.0


@pytest.fixture(scope="module")
def own() -> list[Scene]:
    """The scenes as one process draws them."""
    return [DRAW(i) for i in range(N)]


def begun(n: int = N) -> Generator[tuple[int, Scene]]:
    return drawn_ahead(DRAW, range(n), 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Drawer]:
    """The processes that are started from now on."""
    found: list[Drawer] = []
    start = Drawer.__init__

    def noted(self: Drawer, *arguments: object) -> None:
        start(self, *arguments)  # type: ignore[arg-type]
        found.append(self)

    monkeypatch.setattr(Drawer, "__init__", noted)
    return found


@pytest.mark.process
def test_other_processes_draw_the_same_scenes(
    own: list[Scene], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: files of the current folder were imported by them in place of the library's."""
    (tmp_path / "pickle.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    with Drawer(DRAW, range(N)) as drawer:
        assert [drawer.next() for _ in range(N)] == own
        assert drawer.next() is None
    assert not (tmp_path / "marker").exists()


@pytest.mark.process
def test_they_end_where_no_more_scenes_are_wanted(started: list[Drawer]) -> None:
    with closing(begun(100_000)) as scenes:
        next(scenes)
        processes = [drawer.process for drawer in started]
        assert [process is not None and process.poll() for process in processes] == [None, None]
    assert [process is not None and process.returncode for process in processes] == [-9, -9]


@pytest.mark.process
def test_scenes_are_drawn_here_if_the_other_processes_end(own: list[Scene], started: list[Drawer]) -> None:
    with closing(begun()) as scenes:
        found = [next(scenes)]
        for drawer in started:
            assert drawer.process is not None
            drawer.process.kill()
        assert found + list(scenes) == list(enumerate(own))


@pytest.mark.process
def test_a_process_that_hangs_is_given_up(
    own: list[Scene], started: list[Drawer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(begun()) as scenes:
        found = [next(scenes)]
        monkeypatch.setattr(ahead, "PATIENCE_S", 0.5)
        for drawer in started:
            assert drawer.process is not None
            os.kill(drawer.process.pid, 19)
        assert found + list(scenes) == list(enumerate(own))
        assert all(drawer.process is None for drawer in started)


@pytest.mark.parametrize(
    ("prior", "n", "processes", "started"),
    [
        (CROWDED, LEAST_CROWDED, 3, 3),
        (CROWDED, LEAST_CROWDED - 1, 3, 0),
        (CROWDED, LEAST_CROWDED, 1, 0),
        (CROWDED.where(lambda scene: True, "any"), LEAST_CROWDED, 3, 0),
        (ScenePrior(n_objects=(3, 8)), LEAST, 3, 3),
        (ScenePrior(n_objects=(3, 8)), LEAST - 1, 3, 0),
    ],
    ids=["crowded", "few", "one process", "a condition", "many", "quickly drawn"],
)
def test_no_process_is_started_where_it_does_not_pay_or_cannot_draw(
    prior: ScenePrior, n: int, processes: int, started: int
) -> None:
    assert drawers(prior, n, processes) == started


UNGUARDED = """
import sys
from functools import partial
from trex.bank.drawn import member
from trex.render.ahead import drawn_ahead
from trex.scenes.prior import ScenePrior
print(sum(1 for _ in drawn_ahead(partial(member, ScenePrior(n_objects=(2, 2)), 0), range(40), 2)))
"""


@pytest.mark.process
def test_a_script_without_a_guard_is_not_run_again_by_them(tmp_path: Path) -> None:
    """Planted bug: processes of `multiprocessing` import the user's script, which ended with a RuntimeError."""
    (tmp_path / "script.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "")


KILLED = """
import os
from tests.render.test_ahead import DRAW
from trex.render.ahead import Drawer
drawers = [Drawer(DRAW, range(100_000)) for _ in range(2)]
print(*(drawer.process.pid for drawer in drawers), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.process
def test_they_end_with_the_process_that_has_started_them() -> None:
    """Planted bug: after a kill they went on for hours."""
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    pids = [int(word) for word in done.stdout.split()]
    end = time.monotonic() + WAIT_S
    while any(map(_runs, pids)) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(pids) == 2 and not any(map(_runs, pids)), done.stderr


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return "trex.render.ahead" in Path(f"/proc/{pid}/cmdline").read_text()
    return False
