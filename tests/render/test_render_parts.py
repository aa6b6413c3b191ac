"""Frames, colors, devices, presets and assets: the parts of render/ that need no Blender."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.render_worlds import crowd
from trex.foundation.errors import InputError
from trex.render.assets import assets_hash, base_scene, hashed, mesh_paths
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.wire import PREFIX, Closed, Garbled, TimedOut, read_frame, write_frame
from trex.render.blender_child.device import choose_device
from trex.render.blender_child.session import to_srgb
from trex.render.checks import check_scenes
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_from_dict, scene_to_dict
from trex.scenes.vocabulary import CLEVR, CONE

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    read_fd, write_fd = os.pipe()
    yield read_fd, write_fd
    for fd in (read_fd, write_fd):
        with contextlib.suppress(OSError):
            os.close(fd)


def test_a_frame_arrives_as_it_was_sent(pipe: Pipe) -> None:
    write_frame(pipe[1], {"request": 3, "x": 0.1}, b"ab", b"c")
    assert read_frame(pipe[0]) == ({"request": 3, "x": 0.1}, bytearray(b"abc"))


def test_every_altered_byte_of_a_frame_is_noticed(pipe: Pipe) -> None:
    write_frame(pipe[1], {"request": 3}, b"pixels")
    good = os.read(pipe[0], 1000)
    for position in range(len(good)):
        read_fd, write_fd = os.pipe()
        os.write(write_fd, good[:position] + bytes([good[position] ^ 0x40]) + good[position + 1 :])
        os.close(write_fd)
        with pytest.raises((Garbled, Closed)):
            read_frame(read_fd, time.monotonic() + 60.0)
        os.close(read_fd)


def test_a_frame_that_claims_gigabytes_is_refused_at_once(pipe: Pipe) -> None:
    os.write(pipe[1], PREFIX.pack(b"TRX1", 10, 1 << 31, 0))
    with pytest.raises(Garbled):
        read_frame(pipe[0])


def test_half_a_frame_times_out_or_ends(pipe: Pipe) -> None:
    os.write(pipe[1], b"TRX1")
    with pytest.raises(TimedOut):
        read_frame(pipe[0], time.monotonic())
    os.close(pipe[1])
    with pytest.raises(Closed):
        read_frame(pipe[0])


def test_nobody_reads(pipe: Pipe) -> None:
    os.close(pipe[0])
    with pytest.raises(Closed):
        write_frame(pipe[1], {})


def test_srgb_at_known_points() -> None:
    # IEC 61966-2-1: half of the light is 188, the palette's middle 128 is .2159 of the light
    linear = np.array([-1.0, 0.0, 0.0031308, 0.21586, 0.5, 1.0, 7.0], dtype=np.float32)
    assert to_srgb(linear).tolist() == [0, 0, 10, 128, 188, 255, 255]


def test_pixels_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not numbers"):
        to_srgb(np.array([np.nan], dtype=np.float32))


def test_auto_takes_the_first_gpu_there_is() -> None:
    assert choose_device("auto", {"cpu": ["Xeon"], "cuda": ["H200"], "optix": ["H200"], "hip": []}) == "optix"
    assert choose_device("auto", {"cpu": ["Xeon"], "cuda": []}) == "cpu"
    assert choose_device("cpu", {"cpu": ["Xeon"], "cuda": ["H200"]}) == "cpu"


def test_a_device_that_is_not_there_is_an_error_that_lists_what_is() -> None:
    with pytest.raises(InputError, match=r"'cuda' does not exist on this machine .cpu \(Xeon\)"):
        choose_device("cuda", {"cpu": ["Xeon"], "cuda": []})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"preset": "fats"}, "'fast'"),
        ({"device": "gpu"}, "cpu, cuda"),
        ({"processes": 0}, "give 1 to"),
        ({"threads": 0}, "give 1 to"),
        ({"assets": Path("/nowhere")}, "/nowhere"),
        ({"vocabulary": CLEVR.introduce(replace(CONE, name="duck", mesh="duck.obj"))}, "duck.obj"),
    ],
)
def test_wrong_settings_are_told_at_once(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        BlenderRenderer(**arguments)  # type: ignore[arg-type]


def test_the_key_names_what_determines_the_pixels() -> None:
    keys = {
        BlenderRenderer("fast", "cpu").key,
        BlenderRenderer("draft", "cpu").key,
        BlenderRenderer("fast", "cpu", CLEVR.introduce(CONE)).key,
    }
    assert len(keys) == 3  # of a card: tests/render/test_render_pool.py
    assert (
        BlenderRenderer("fast", "cpu").key
        == BlenderRenderer("fast", "cpu", CLEVR.revoke("cube"), 2, threads=1).key
    )


def test_a_changed_mesh_changes_the_hash(tmp_path: Path) -> None:
    mesh = tmp_path / "duck.obj"
    mesh.write_text("v 0 0 0\n")
    first = assets_hash(
        hashed(mesh_paths(CLEVR.introduce(replace(CONE, name="duck", mesh=str(mesh))))), base_scene()
    )
    mesh.write_text("v 0 0 1\n")
    second = assets_hash(
        hashed(mesh_paths(CLEVR.introduce(replace(CONE, name="duck", mesh=str(mesh))))), base_scene()
    )
    assert first != second != assets_hash(hashed(mesh_paths(CLEVR)), base_scene())


@pytest.mark.parametrize(
    "scene",
    [crowd(101), replace(crowd(1), nuisances=Nuisances(camera=(0.0, 2e4, 0.0)))]
    + [Scene((SceneObject("cube", "large", "red", "rubber", *xyr),), Nuisances())
       for xyr in ((2e4, 0.0, 0.0), (0.0, float("nan"), 0.0), (0.0, 0.0, -1e5))],
)  # fmt: skip
def test_what_blender_would_refuse_is_refused_before_it_starts(scene: Scene) -> None:
    """Planted bug: such scenes were tried three times, and the advice was to raise the time limit."""
    with pytest.raises(InputError):
        scene_from_dict(scene_to_dict(scene))
    with pytest.raises(InputError):
        check_scenes([scene], CLEVR)
    check_scenes([crowd(100)], CLEVR)
    assert scene_from_dict(scene_to_dict(crowd(100))) == crowd(100)
