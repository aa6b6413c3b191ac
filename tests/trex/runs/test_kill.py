"""A run that is killed at any moment and resumed has the draws of an unbroken run, byte for byte."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest

from tests.running.kills import ended, has_draws, in_child, kill_midway
from tests.running.runs import QUERY, SEARCHES, draws, find, go_on, leave_draws, run, write_query
from tests.running.waiting import wait_for
from trex.runs.folder import is_run

SEED = 20260


@pytest.mark.process
@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize("moment", range(10))
def test_a_kill_at_a_random_moment_changes_no_draw(moment: int, tmp_path: Path) -> None:
    overrides = [*SEARCHES["chains"], f"search.seed={moment % 2}"]
    whole, out = draws(run(tmp_path, overrides, "whole").folder), tmp_path / "run"
    size = random.Random(f"{SEED} {moment}").randrange(1, len(whole))
    kill_midway(lambda: find_in_child(out, overrides), out, size, len(whole))
    assert whole.startswith(draws(out).rpartition(b"\n")[0])
    assert draws(go_on(out).folder) == whole


def find_in_child(out: Path, overrides: Sequence[str]) -> int:
    query = write_query(out.parent)
    return in_child(lambda: find(query, overrides, out))


def kill_in_a_call(name: str, at: int, keep: int) -> None:
    """From now on, call `at` of an os function writes at most `keep` bytes, and then the process is killed."""
    real, count = getattr(os, name), iter(range(10**9))

    def call(fd: int, *remaining: object) -> object:
        if next(count) == at:
            if remaining and isinstance(remaining[0], bytes):
                real(fd, remaining[0][:keep], *remaining[1:])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(fd, *remaining)

    setattr(os, name, call)


@pytest.mark.process
@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize("search", SEARCHES)
def test_a_kill_in_the_middle_of_a_write_changes_no_draw(search: str, tmp_path: Path) -> None:
    overrides = SEARCHES[search]
    whole = draws(run(tmp_path, overrides, "whole").folder)
    rng = random.Random(f"{SEED} {search}")
    query, out = write_query(tmp_path), tmp_path / "run"

    def work(name: str, at: int, keep: int) -> None:
        kill_in_a_call(name, at, keep)
        if is_run(out):
            go_on(out)
        else:
            find(query, overrides, out)

    kills = 0
    for name in (
        "pwrite",
        "fsync",
        "pwrite",
        "fsync",
        "pwrite",
    ):  # killed again and again, also while it resumes
        at, keep = rng.randrange(1, 6), rng.randrange(4000)
        kills += ended(in_child(lambda name=name, at=at, keep=keep: work(name, at, keep)))  # type: ignore[misc]
        if is_run(out):
            lines = draws(out).rpartition(b"\n")[0]
            assert whole.startswith(lines)
    assert kills >= 3
    assert draws(go_on(out).folder) == whole


@pytest.mark.slow
@pytest.mark.usefixtures("no_reports")
def test_the_searches_end_in_the_phases_they_are_meant_to(tmp_path: Path) -> None:
    phases, kept = {}, {}
    for name, overrides in SEARCHES.items():
        done = run(tmp_path, overrides, name.replace(" ", "-"))
        text = draws(done.folder).decode()
        phases[name] = [word for word, _ in groupby(json.loads(line)["phase"] for line in text.splitlines())]
        kept[name] = done.results
    assert phases["chains"] == phases["stops when found"] == ["prior", "chain"]
    assert phases["common"] == ["prior"] and kept["common"].how_often.is_common
    assert phases["control"] == ["prior", "chain", "control"]
    assert phases["bank"][:5] == ["bank", "likely", "noise", "prior", "chain"]
    assert phases["bank"].count("noise") > 1  # between rounds too
    assert phases["second sample"] == ["bank", "likely", "noise", "prior", "noise", "prior", "noise"]
    assert phases["surrogate"].count("noise") > 1 and kept["surrogate"].calibration is not None
    assert kept["surrogate"].calibration.lead == "fake-small" and kept["surrogate"].cheap > 60
    assert phases["spread"][-2:] == ["spread", "noise"], "its hits are checked, too"
    assert phases["fragile"] == ["prior", "chain", "noise", "chain"]
    assert len(kept["fragile"].fragile) == 1 and not kept["fragile"].found


@pytest.mark.usefixtures("no_reports")
@pytest.mark.parametrize("cut", range(6))
def test_a_cut_file_keeps_its_whole_lines(cut: int, tmp_path: Path) -> None:
    done = run(tmp_path)
    whole = draws(done.folder)
    at = random.Random(f"{SEED} cut {cut}").randrange(1, len(whole))
    leave_draws(done.folder, whole[:at])
    kept = whole[:at].rpartition(b"\n")[0]
    assert draws(go_on(done.folder).folder) == whole
    assert whole.startswith(kept)


def test_a_planted_bug_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resume that does not restore the random state gives other draws."""
    from trex.inference.chains import start
    from trex.runs import replay

    whole = draws(run(tmp_path, name="whole").folder)
    done = run(tmp_path)
    lines = whole.splitlines(keepends=True)
    leave_draws(done.folder, b"".join(lines[: 12 + 3 * 6]))
    real = replay.Checkpoint
    monkeypatch.setattr(
        replay, "Checkpoint", lambda states, rngs, at: real(states, start(1, states).rng_states, at)
    )
    assert draws(go_on(done.folder).folder) != whole


def test_a_step_that_comes_out_differently_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a round that was cut in the middle, the part that is there must come out the same again."""
    from trex.clevr_models.fake import ColorArea
    from trex.foundation.errors import RunError

    done = run(tmp_path)
    lines = draws(done.folder).splitlines(keepends=True)
    rows = range(12, len(lines), 3)
    at = next(row for row in rows if b'"log_probs":[]' not in lines[row] + lines[row + 1])
    leave_draws(done.folder, b"".join(lines[: at + 2]))
    real = ColorArea.count
    monkeypatch.setattr(ColorArea, "count", lambda self, images: real(self, images) + 1e-6)
    with pytest.raises(RunError, match="gave a different result"):
        go_on(done.folder)


@pytest.mark.slow
@pytest.mark.process
def test_the_command_itself_survives_a_kill(tmp_path: Path) -> None:
    """`trex find` as a process of its own, killed, then `trex resume`."""
    whole = draws(run(tmp_path, name="whole").folder)
    query, out = write_query(tmp_path), tmp_path / "run"
    trex = [sys.executable, "-m", "trex.commands.shell.app"]
    command = [*trex, "find", str(query), "--out", str(out)]
    kill_midway(
        lambda: subprocess.Popen(command, stderr=subprocess.DEVNULL).pid, out, len(whole) // 2, len(whole)
    )
    resumed = subprocess.run([*trex, "resume", str(out)], capture_output=True, text=True, check=False)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.splitlines()[-1] == f"report: {out}/report.html"
    assert draws(out) == whole


@pytest.mark.process
def test_ctrl_c_keeps_everything_and_says_how_to_go_on(tmp_path: Path) -> None:
    query, out = write_query(tmp_path, QUERY.replace("steps = 12", "steps = 4000")), tmp_path / "run"
    trex = [sys.executable, "-m", "trex.commands.shell.app", "find", str(query), "--out", str(out)]
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background shell has it ignored
    process = subprocess.Popen(trex, stderr=subprocess.PIPE, text=True, preexec_fn=listen)
    wait_for(partial(has_draws, process.pid, out, 20_000), pause_s=0.001)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate()
    assert process.returncode == 130
    assert f"trex resume {out}" in text
    assert "Traceback" not in text
    assert draws(out).endswith(b"\n")


@pytest.mark.slow
@pytest.mark.blender
def test_with_blender_too(tmp_path: Path) -> None:
    """Two kills of a real run at preset draft."""
    overrides = ["render.preset=draft", "render.device=cpu", "search.prior_scenes=4", "search.steps=3",
                 "search.bank=0", "render.fresh=1"]  # fmt: skip
    whole = draws(run(tmp_path, overrides, "whole").folder)
    out = tmp_path / "run"
    kill_midway(lambda: find_in_child(out, overrides), out, len(whole) // 4, len(whole))
    pid = in_child(lambda: go_on(out))
    wait_for(partial(has_draws, pid, out, len(whole) // 2), pause_s=0.001)
    os.kill(pid, signal.SIGKILL)
    assert ended(pid)
    assert draws(go_on(out).folder) == whole
