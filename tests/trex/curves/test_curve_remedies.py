"""What is to be done about a damaged curve works as it is printed, whatever the value's name."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import trex
from tests.running.command_line import trex as command
from tests.running.command_line import trex_done
from trex.curves.stored import file_name

NAMES = ("two words", "ä-1", "-it's $HOME", "a/b", "x-family-2", "x" * 300)
MODULE = f"""
import numpy as np, trex
NAMES = {NAMES!r}
def draw(v): return np.full((4, 4), v[NAMES[0]])
def classify(pictures, question):
    light = pictures.mean(axis=(1, 2, 3))
    return np.stack([1 - light, light], axis=1)
world = trex.World(prior=dict.fromkeys(NAMES, (0.0, 1.0)), render=draw, answers=["dark", "light"])
"""
QUERY = """
answer = "light"
[generator]
name = "curve_parts:world"
[model]
name = "curve_parts:classify"
[search]
prior_scenes = 60
steps = 0
"""


def remedy(text: str) -> str:
    """What an error says to do."""
    return text.partition("delete it, then")[2].strip()


def test_the_command_for_a_damaged_curve_names_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: it named the file, "two%20words" or "%C3%A4", where the command needs the value's name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("curve_parts.py").write_text(MODULE)
    Path("query.toml").write_text(QUERY)
    trex_done("find", "query.toml", "--out", "my run", "--trust", "--no-explain", "--no-large")
    for name in NAMES:
        curve = ("curve", "my run", f"--over={name}", "--scenes", "2", "--doses", "3")
        trex_done(*curve)
        file = Path("my run") / "curves" / file_name(name)
        before = file.read_bytes()
        file.write_text("{")
        refused = command("resume", "my run")
        assert refused.exit_code != 0
        file.unlink()
        if len(name) < 200:
            program, *words = shlex.split(remedy(refused.stderr).removeprefix(": "))
            assert program == "trex"
            trex_done(*words, "--scenes", "2", "--doses", "3")
            assert file.read_bytes() == before
        else:
            assert "make a curve over the value with the long name again" in refused.stderr
            trex_done(*curve)


def test_for_a_world_of_the_session_the_remedy_is_python(tmp_path: Path) -> None:
    world = trex.World(
        prior={"two words": (0.0, 1.0)},
        render=lambda v: np.full((4, 4), v["two words"]),
        answers=["dark", "light"],
    )

    def classify(pictures: np.ndarray, question: str) -> np.ndarray:
        light = pictures.mean(axis=(1, 2, 3))
        return np.stack([1 - light, light], axis=1)

    run = trex.find(
        world=world,
        model=classify,
        answer="light",
        prior_scenes=60,
        steps=0,
        out=tmp_path / "run",
        progress=False,
    )
    run.curve(over="two words", doses=3, progress=False)
    (run.path / "curves" / file_name("two words")).write_text("{")
    with pytest.raises(trex.RunError) as refused:
        run.report()
    assert remedy(str(refused.value)) == (
        f"in Python: trex.open_run({str(run.path)!r}, world=...).curve(over='two words')"
    )
