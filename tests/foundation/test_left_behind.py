"""Files that a kill in the middle of a write has left: swept by what goes on, never in its way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.running.kills import ended, in_child
from tests.running.runs import go_on, run
from tests.worlds.baseline_worlds import QUERY as BASELINE_QUERY
from tests.worlds.baseline_worlds import write_query
from trex.foundation.files import left_behind, write_atomic
from trex.trials.baseline.run import make_baseline
from trex.trials.options import BaselineOptions

pytestmark = pytest.mark.process


def cut(path: Path) -> Path:
    """What a process leaves that is killed while it writes this file; the name of what is left."""

    def work() -> None:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        write_atomic(path, b"half")

    pid = in_child(work)
    assert ended(pid)
    return path.with_name(f".{path.name}.{pid}.tmp")


@pytest.mark.parametrize("name", ["report.html", "findings.json", "pictures/x.png"])
def test_what_a_kill_has_left_in_a_run_is_gone_after_the_resume(name: str, tmp_path: Path) -> None:
    done = run(tmp_path)
    before = set(done.folder.rglob("*"))
    left = cut(done.folder / name)
    assert left.exists()
    go_on(done.folder)
    assert set(done.folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["baseline.json", "baseline.html"])
def test_a_baseline_that_was_killed_while_it_wrote_its_result_goes_on(name: str, tmp_path: Path) -> None:
    query, out = write_query(tmp_path, BASELINE_QUERY), tmp_path / "out"
    wanted = BaselineOptions(rendered=2, cache=tmp_path / "cache")
    make_baseline([query], (), wanted, out, lambda *_: None)
    left = cut(out / name)
    assert left.exists()
    make_baseline([query], (), wanted, out, lambda *_: None)
    assert sorted(path.name for path in out.iterdir()) == [
        "baseline-pictures.json",
        "baseline.html",
        "baseline.json",
    ]


def test_what_a_running_process_writes_to_is_not_left_behind(tmp_path: Path) -> None:
    for number in (os.getppid(), 1):
        (tmp_path / f".report.html.{number}.tmp").write_bytes(b"")
    gone = cut(tmp_path / "report.html")
    mine = tmp_path / f".report.html.{os.getpid()}.tmp"  # of an earlier process with the same number
    mine.write_bytes(b"")
    (tmp_path / ".other.name.tmp").write_bytes(b"")
    assert left_behind(tmp_path) == sorted([gone, mine])
