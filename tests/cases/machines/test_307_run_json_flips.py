"""One changed character of run.json: refused in a sentence by what resumes or reads the run, or without any effect."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import change_manifest, draws, leave_draws, run
from trex.foundation.errors import TrexError
from trex.runs.draw_log import run_draws
from trex.runs.folder import MANIFEST, open_run

SEED, FLIPS = 20261126, 400


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A run whose last draws are still to be made, as a kill leaves it, and the draws that it had in all."""
    folder = run(tmp_path_factory.mktemp("cut")).folder
    whole = draws(folder)
    leave_draws(folder, b"".join(whole.splitlines(keepends=True)[:-20]))
    return folder, whole


def flips(text: str, n: int) -> list[str]:
    rng = random.Random(SEED)
    changed = []
    for at in rng.sample(range(len(text)), n):
        old = text[at]
        kind = "0123456789" if old.isdigit() else "abcdefghijklmnopqrstuvwxyz"
        new = rng.choice([item for item in kind if item != old])
        changed.append(text[:at] + new + text[at + 1 :])
    return changed


def test_no_flip_is_accepted_that_means_something_else(cut: tuple[Path, bytes], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(cut[0], tmp_path / "run"))
    place = folder / MANIFEST
    text = place.read_text()
    output = json.loads(text)
    accepted, texts = [], []
    for changed in flips(text, FLIPS):
        place.write_text(changed)
        try:
            with open_run(folder, for_writing=False) as opened:
                run_draws(opened)
        except TrexError as error:
            texts.append(str(error))
        else:
            accepted.append(changed)
    assert all("\n" not in item for item in texts) and len(texts) > FLIPS / 2
    assert all(json.loads(item) == output for item in accepted), "no more than spaces"
    place.write_text(text)
    with open_run(folder, for_writing=False) as opened:
        assert run_draws(opened), "as it was, it is read"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"width": 0.05', '"width": 0.75'),
        pytest.param('"prior_scenes": 12', '"prior_scenes": 13', marks=pytest.mark.slow),
        ('"seed": 0', '"seed": 7'),
        pytest.param('"size": [\n   120', '"size": [\n   121', marks=pytest.mark.slow),
        pytest.param('"preset": "fake"', '"preset": "fast"', marks=pytest.mark.slow),
        pytest.param('"steps": 12', '"steps": 13', marks=pytest.mark.slow),
    ],
    ids=lambda words: words.split(":")[0].strip('"'),
)
def test_a_run_of_two_targets_is_never_made(
    cut: tuple[Path, bytes], tmp_path: Path, old: str, new: str
) -> None:
    folder = Path(shutil.copytree(cut[0], tmp_path / "run"))
    before, text = draws(folder), (folder / MANIFEST).read_text()
    assert old in text
    (folder / MANIFEST).write_text(text.replace(old, new, 1))
    for command in (["resume"], ["report"], ["resume", "--repair"], ["export"]):
        refused(trex(command[0], folder, *command[1:]), "run.json")
    assert draws(folder) == before
    (folder / MANIFEST).write_text(text)
    assert trex("resume", folder).exit_code == 0
    assert draws(folder) == cut[1]


def test_a_seal_that_is_taken_away_breaks_the_chain(cut: tuple[Path, bytes], tmp_path: Path) -> None:
    """Planted bug: without its seal, a changed run.json passed for one of an earlier version."""
    folder = Path(shutil.copytree(cut[0], tmp_path / "run"))
    data = json.loads((folder / MANIFEST).read_text())
    del data["seal"]
    (folder / MANIFEST).write_text(json.dumps(data))
    refused(trex("report", folder), "draws.jsonl, line 1: ")
    refused(trex("resume", folder), "draws.jsonl, line 1: ")


def test_a_run_of_before_is_resumed_to_the_same_draws(cut: tuple[Path, bytes], tmp_path: Path) -> None:
    """It has no seal, and its chain begins with nothing."""
    folder = Path(shutil.copytree(cut[0], tmp_path / "run"))
    change_manifest(folder, lambda data: None, is_sealed=False)
    assert trex("report", folder).exit_code == 0
    assert trex("resume", folder).exit_code == 0
    assert draws(folder) == cut[1]
    assert trex("report", folder).exit_code == 0
