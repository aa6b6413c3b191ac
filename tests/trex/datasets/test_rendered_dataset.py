"""A split is rendered by one program at a time, by a plan that can be drawn, and its lines are its scenes in order."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from tests.running.command_line import refused, trex, trex_done
from trex.datasets import rendered_dataset
from trex.datasets.rendered_dataset import DatasetPlan, render_dataset
from trex.foundation.errors import InputError
from trex.foundation.files import DiskFullError
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene

PLAN = DatasetPlan(3, split="val", objects=(3, 4), questions_per_scene=2)


class Stand:
    """The fake renderer in the place of Blender."""

    started = 0

    def __init__(self, preset: str, device: str, processes: int) -> None:
        if preset == "zz":
            raise InputError("preset 'zz' is not known")
        self.inner, self.key = FakeRenderer(60, 40), "fake"

    def __enter__(self) -> Stand:
        Stand.started += 1
        return self

    def __exit__(self, *error: object) -> None: ...

    def render(self, scenes: Sequence[Scene]) -> list[Picture]:
        return self.inner.render(scenes)


@pytest.fixture(autouse=True)
def no_blender(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendered_dataset, "BlenderRenderer", Stand)
    monkeypatch.setattr(Stand, "started", 0)


def lines(out: Path) -> Path:
    return out / "scenes" / "val.jsonl"


def test_two_programs_never_render_one_split(tmp_path: Path) -> None:
    """Planted bug: both counted the lines and went on, so that pictures, scenes and questions no longer agreed."""

    def meanwhile(step: str, done: int, total: int | None, /, *facts: str) -> None:
        if done == 0:
            with pytest.raises(InputError, match="another program is rendering this split"):
                render_dataset(tmp_path, PLAN)
            assert Stand.started == 1  # the second one has started no renderer

    render_dataset(tmp_path, PLAN, progress=meanwhile)
    assert [json.loads(line)["image_index"] for line in lines(tmp_path).read_text().splitlines()] == [0, 1, 2]
    render_dataset(tmp_path, PLAN)  # free again


@pytest.mark.parametrize("order", [(0, 1, 0, 1, 2), (0, 2), (1,)])
def test_lines_that_are_not_the_scenes_in_order_are_refused(order: tuple[int, ...], tmp_path: Path) -> None:
    render_dataset(tmp_path, PLAN)
    whole = lines(tmp_path).read_text().splitlines(keepends=True)
    lines(tmp_path).write_text("".join(whole[k] for k in order))
    with pytest.raises(InputError, match=r"val.jsonl, line \d is not scene \d"):
        render_dataset(tmp_path, PLAN)
    lines(tmp_path).write_text("".join(whole[:2]) + whole[2][:9])  # as a kill leaves it
    render_dataset(tmp_path, PLAN)
    assert lines(tmp_path).read_text() == "".join(whole)


def test_a_renderer_that_cannot_be_leaves_nothing_behind(tmp_path: Path) -> None:
    """Planted bug: empty folders and an empty list of scenes were there already."""
    with pytest.raises(InputError, match="preset 'zz'"):
        render_dataset(tmp_path / "ds", replace(PLAN, preset="zz"))
    assert not (tmp_path / "ds").exists()


def test_a_plan_that_made_no_scene_binds_nobody(tmp_path: Path) -> None:
    """Planted bug: a mistaken number of objects was written down, and the corrected command was refused."""
    for objects in ((3, 11), (10, 3)):
        with pytest.raises(InputError, match="objects"):
            DatasetPlan(2, objects=objects)
    tmp_path.joinpath("val.plan.json").write_text("")  # as a kill while it was written left it
    render_dataset(tmp_path, PLAN)
    otherwise = pytest.raises(
        InputError, match="made otherwise; they differ in seed, objects: ask for the same"
    )
    with otherwise:
        render_dataset(tmp_path, DatasetPlan(4, 1, "val", objects=(3, 5), questions_per_scene=2))


def test_fewer_scenes_than_a_folder_has_are_refused_before_anything_is_rendered(tmp_path: Path) -> None:
    """Planted bug: the scenes and questions files named the first 2 of 3 pictures."""
    words = ("render", "dataset", "--objects", "3-4", "--split", "val", "--out", tmp_path / "out", "--scenes")
    scenes = Path(json.loads(trex_done(*words, 3, "--json").stdout)["scenes"])
    before = scenes.read_bytes()
    refused(trex(*words, 2), "already has 3 scenes of split val, not just 2", "ask for 3 or more", "--out")
    assert Stand.started == 1 and scenes.read_bytes() == before
    trex_done(*words, 3)
    trex_done(*words, 4)
    for kind in ("images", "masks"):
        assert len(list((tmp_path / "out" / kind / "val").iterdir())) == 4
    content = json.loads(scenes.read_text())
    assert len(content["scenes"]) == 4 and content["info"]["made_by"] == "trex render dataset"


def full_after(monkeypatch: pytest.MonkeyPatch, kind: type, method: str, times: int) -> None:
    """A disk that is full when the method is called for the next time after these."""
    whole, calls = getattr(kind, method), iter(range(times))

    def once(*given: object, **named: object) -> object:
        if next(calls, None) is None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(*given, **named)

    monkeypatch.setattr(kind, method, once)


def test_a_picture_that_finds_no_room_is_named_and_the_same_command_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: standard output was said to be full, and all files to be complete."""
    words = (
        "render",
        "dataset",
        "--scenes",
        3,
        "--objects",
        "3-4",
        "--out",
        tmp_path / "out",
        "--split",
        "val",
    )
    with monkeypatch.context() as full:
        full_after(full, Image.Image, "save", 3)
        failed = trex(*words)
    picture = tmp_path / "out" / "masks" / "val" / PLAN.name(1)
    refused(failed, f"no space left on the disk of {picture}", "everything written before is kept", "repeat")
    assert "standard output" not in failed.stderr
    trex_done(*words)
    assert len(lines(tmp_path / "out").read_text().splitlines()) == 3


def test_lines_that_find_no_room_are_named() -> None:
    full = pytest.raises(DiskFullError, match="no space left on the disk of /dev/full")
    with open("/dev/full", "ab", buffering=0) as log, full:
        rendered_dataset._append(log, b"line\n")
