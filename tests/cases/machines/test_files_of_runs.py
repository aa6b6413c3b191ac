"""Files of runs and audits: their permissions, and what is lost, damaged or changed behind a run's back."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import draws, run
from tests.worlds.repair_toy import tree
from trex.auditing.records import SETTINGS, Settings, read_settings
from trex.foundation.errors import RunError
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene

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
    trex_done("render", "bank", place / "q.toml", "--scenes", 16, "--preset", "fake")
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


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("searched")).folder


def hit_picture(folder: Path) -> Path:
    """The picture of the most confident hit."""
    found = json.loads((folder / "findings.json").read_text())["found"]
    return folder / str(found[0]["picture"])


def lose(picture: Path) -> None:
    picture.unlink()


def lose_mask(picture: Path) -> None:
    picture.with_suffix(".mask.png").unlink()


def cut_short(picture: Path) -> None:
    picture.write_bytes(picture.read_bytes()[:100])


def repaint(picture: Path) -> None:
    with Image.open(picture) as image:
        changed = image.copy()
    changed.putpixel((0, 0), (1, 2, 3))
    changed.save(picture)


@pytest.mark.parametrize("damage", [lose, lose_mask, cut_short, repaint])
def test_a_lost_or_damaged_picture_of_a_hit_is_rendered_again(
    damage: Callable[[Path], None], searched: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(searched, tmp_path / "a run"))
    whole = tree(folder / "pictures")
    damage(hit_picture(folder))
    assert tree(folder / "pictures") != whole
    refused(trex("export", folder, "--format", "coco"), f"trex resume '{folder}' renders")
    trex_done("resume", folder, "--no-explain")
    assert tree(folder / "pictures") == whole
    assert draws(folder) == draws(searched)
    trex_done("export", folder, "--format", "coco")


def test_a_picture_that_comes_out_otherwise_is_not_put_in_its_place(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted bug: what is rendered was stored under its own name, and the hit stayed without a picture, or under the
    name of the hit.
    """
    folder = Path(shutil.copytree(searched, tmp_path / "run"))
    hit_picture(folder).unlink()
    before, render = tree(folder / "pictures"), FakeRenderer.render

    def other(self: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        return [replace(picture, pixels=np.invert(picture.pixels)) for picture in render(self, zs)]

    monkeypatch.setattr(FakeRenderer, "render", other)
    trex_done("resume", folder)
    assert tree(folder / "pictures") == before
    assert "1 pictures of hits" in caplog.text and "renders others" in caplog.text


def test_an_audit_says_its_format_and_one_of_before_opens(tmp_path: Path) -> None:
    today = Settings("m", "w", "v", 10, 5, 2, "fast", "reference", 0.9, 3, 0, {})
    place = tmp_path / "audit.json"
    place.write_text(SETTINGS.text(today))
    stored = json.loads(place.read_text())
    assert stored["format"] == 1 and read_settings(place) == today
    place.write_text(json.dumps({name: value for name, value in stored.items() if name != "format"}))
    assert read_settings(place) == today
    for later in ({"format": 2}, {"format": 2, "model": 3}, {"format": "1"}):
        place.write_text(json.dumps(stored | later))
        with pytest.raises(
            RunError, match=r"has audit format .* but this version reads format 1; use the version"
        ):
            read_settings(place)
    place.write_text("{")
    with pytest.raises(RunError, match=r"audit.json is damaged .*; delete the folder and audit again"):
        read_settings(place)
    assert read_settings(tmp_path / "none" / "audit.json") is None
