"""`trex queue watch`, and the small files that say where a farm stands."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.running.command_line import trex_done
from tests.running.farm_runs import OWNER, finished, line_of, queued, working
from trex.farm.monitor.overview import SILENT_S, Overview, overview
from trex.farm.monitor.top import view
from trex.farm.queue import queue
from trex.farm.status import (
    FARM,
    RUN_STATUS,
    FarmStatus,
    RunStatus,
    read_farm_statuses,
    read_run_status,
    remove_farm_status,
    write_farm_status,
    write_run_status,
)
from trex.search.progress import Status


def text_of(seen: Overview) -> str:
    """The table on a wide terminal."""
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(view(seen))
    console.file.close()
    return console.export_text()


def test_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = queued(tmp_path)
    done, lost = queue.entries(runs)[:2]
    finished(runs, done)
    queue.claim(runs, OWNER, time.time(), 60.0)
    queue.fail(runs, lost.id, OWNER, time.time(), "\x1b[2Jthe model is gone")
    entry = working(runs, time.time())
    monkeypatch.setenv("COLUMNS", "200")
    shown = trex_done("queue", "watch", "--once", "--runs", runs).stdout
    assert "2 queued, 1 running, 1 done, 1 failed; 1 worker, 2.50 renders/s" in shown
    assert f"{OWNER}: worker-0 {entry.id[:10]}" in shown
    line = line_of(shown, " running ")
    for cell in (entry.id[:10], "chains 6/12", "0.875", "50%", "2.50", "2 min 05 s"):
        assert cell in line
    assert "FOUND" in line_of(shown, " done ")
    assert "the model is gone" in line_of(shown, " failed ") and "\x1b" not in shown
    few = trex_done("queue", "watch", "--once", "--rows", 0, "--runs", runs).stdout
    assert " running " in few and " done " not in few.split("\n\n", 1)[1]


def test_what_was_told_long_ago_is_not_shown_as_new(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    working(runs, 1000.0)
    fresh, old = overview(runs, 1000.0 + SILENT_S - 1, 5), overview(runs, 1000.0 + SILENT_S, 5)
    assert (fresh.workers, fresh.renders_per_s) == (1, 2.5)
    assert (old.workers, old.renders_per_s) == (0, 0.0)
    assert "2.50" in line_of(text_of(fresh), " running ")
    line = line_of(text_of(old), " running ")
    assert "2.50" not in line and "0.875" in line  # how sure it was stays true


def test_a_run_without_a_render_has_no_figures_and_one_that_ended_is_nowhere(tmp_path: Path) -> None:
    """Planted bug: a query that failed at once had found 0/3 with a confidence of 0.000, a done audit "probes 0/0"."""
    now, runs = time.time(), queued(tmp_path)
    audit, failed = queue.entries(runs)[:2]
    nothing = Status("prior", 0, 60, 0, 0, 0, 0.0, 0, 3)
    for entry, search in ((audit, replace(nothing, phase="probes", total=0)), (failed, nothing)):
        (runs / entry.folder).mkdir(exist_ok=True)
        write_run_status(runs / entry.folder, RunStatus(search, 0.0, 0, None, now))
        queue.claim(runs, OWNER, now, 60.0)
    running = line_of(text_of(overview(runs, now, 5)), audit.id[:10])
    assert "probes" in running and "0/0" not in running
    queue.finish(runs, audit.id, OWNER, now)
    queue.fail(runs, failed.id, OWNER, now, "out of paper")
    shown = text_of(overview(runs, now, 5))
    assert "probes" not in line_of(shown, " done ")
    assert "0.000" not in line_of(shown, " failed ") and "0/3" not in line_of(shown, " failed ")


def test_of_workers_that_start_it_says_so(tmp_path: Path) -> None:
    """Planted bug: nothing followed the name of the machine."""
    now = time.time()
    write_farm_status(tmp_path, FarmStatus("host-1", "host", 1, now, now, 0, ()))
    assert "host-1: its workers are starting" in text_of(overview(tmp_path, now, 5))


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "nothing; 0 workers" in trex_done("queue", "watch", "--once", "--runs", tmp_path).stdout
    assert not list(tmp_path.iterdir())


def test_files_that_are_cut_or_strange_say_nothing(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    entry = working(runs, 1000.0)
    run, (farm,) = runs / entry.folder, read_farm_statuses(runs)
    assert farm.owner == OWNER
    (file,) = (runs / FARM).iterdir()
    for text in ("", "{", "[]", file.read_text()[:-20], '{"owner": 3}', "\x00" * 50):
        file.write_text(text)
        (run / RUN_STATUS).write_text(text)
        assert read_farm_statuses(runs) == [] and read_run_status(run) is None
    assert overview(runs, 1000.0, 5).workers == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accepted", "1" + "0" * 299),
        ("accepted", "1" + "0" * 400),
        ("left_s", "Infinity"),
        ("left_s", "NaN"),
        ("left_s", "1e300"),
    ],
)
def test_numbers_that_no_page_could_show_are_no_status(name: str, value: str, tmp_path: Path) -> None:
    runs = queued(tmp_path)
    run = runs / working(runs, 1000.0).folder
    text = (run / RUN_STATUS).read_text()
    changed = re.sub(rf'"{name}": [^,}}]+', f'"{name}": {value}', text)
    assert changed != text and read_run_status(run) is not None
    (run / RUN_STATUS).write_text(changed)
    assert read_run_status(run) is None
    assert view(overview(runs, 1000.0, 5)) is not None


def test_numbers_of_a_worker_that_no_page_could_show_are_no_status(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    working(runs, 1000.0)
    (farm,) = read_farm_statuses(runs)
    write_farm_status(runs, replace(farm, workers=(replace(farm.workers[0], memory_mib=1e300),)))
    assert read_farm_statuses(runs) == []


def test_a_farm_that_cannot_take_its_status_back_ends_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", read_only)
    remove_farm_status(tmp_path, OWNER)


def test_a_status_comes_back_as_it_was_written(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    entry = working(runs, 1000.0)
    status = read_run_status(runs / entry.folder)
    assert status is not None
    write_run_status(runs / entry.folder, replace(status, left_s=None, renders_per_s=1 / 3))
    again = read_run_status(runs / entry.folder)
    assert again == replace(status, left_s=None, renders_per_s=1 / 3)
    (farm,) = read_farm_statuses(runs)
    other = replace(farm, owner="../../outside")
    write_farm_status(runs, other)
    assert read_farm_statuses(runs) == [other, farm] and not (tmp_path / "outside.json").exists()
    remove_farm_status(runs, OWNER)
    assert read_farm_statuses(runs) == [other]
    assert isinstance(farm, FarmStatus)


def test_a_status_of_a_run_folder_that_is_gone_raises_nothing(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    entry = working(runs, 1000.0)
    status = read_run_status(runs / entry.folder)
    assert status is not None
    write_run_status(tmp_path / "gone", status)
    assert not (tmp_path / "gone" / RUN_STATUS).exists()


@pytest.mark.process
def test_on_a_terminal_it_goes_on_until_ctrl_c(tmp_path: Path) -> None:
    runs = queued(tmp_path)
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(runs)], stdout=theirs, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"5 queued" not in seen:
        seen += os.read(ours, 4096)  # raises where the process has ended
    process.send_signal(signal.SIGINT)
    with suppress(OSError):  # what the process has still to say, until it ends
        while os.read(ours, 4096):
            pass
    assert process.wait(timeout=60) == 130
    assert process.stderr is not None and process.stderr.read() == "stopped\n"
    os.close(ours)


START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
from trex.commands.shell.app import app
app(["queue", "watch", "--runs", sys.argv[1]])
"""


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_narrow_terminal_cuts_settings_and_no_figure(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = queued(tmp_path, "search.seed=1..3")
    entry = working(runs, time.time())
    monkeypatch.setenv("COLUMNS", str(width))
    shown = trex_done("queue", "watch", "--once", "--runs", runs).stdout
    assert max(map(len, shown.splitlines())) <= width
    head, line = line_of(shown, " state "), line_of(shown, " running ")
    figures = {"best": "0.875", "accepted": "50%", "found": "2", "renders/s": "2.50", "left": "2 min 05 s"}
    for name, figure in figures.items():
        assert name in head and figure in line, shown
    assert entry.id[:10] in line
    if width == 200:
        assert all(word in line for word in ("How many red things", "search.seed=", "chains 6/12"))


@pytest.mark.parametrize(("width", "is_shown"), [(40, True), (26, True), (25, False)])
def test_the_confidence_is_the_last_figure_to_go(
    width: int, is_shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = queued(tmp_path, "search.seed=1..3")
    entry = working(runs, time.time())
    monkeypatch.setenv("COLUMNS", str(width))
    shown = trex_done("queue", "watch", "--once", "--runs", runs).stdout
    assert max(map(len, shown.splitlines())) <= width
    line = line_of(shown, f"{entry.id[:10]}  running")
    assert ("0.875" in line) is is_shown
