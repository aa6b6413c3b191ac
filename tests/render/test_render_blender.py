"""What only the real Blender can show: bits that never change, colors as Blender saves them, masks, recovery."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.worlds.render_worlds import MASKS, crowd, prior_scenes
from trex.foundation.errors import InputError
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.picture import Bytes, Picture
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.visibility import id_map, visible_pixels
from trex.scenes.vocabulary import CLEVR, CONE

pytestmark = pytest.mark.blender
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unbroken(slow: None) -> list[Picture]:
    with BlenderRenderer("draft", "cpu", threads=1) as blender:
        return blender.render(prior_scenes(3))


def check_same(pictures: Sequence[Picture], expected: Sequence[Picture]) -> None:
    assert len(pictures) == len(expected)
    for picture, other in zip(pictures, expected, strict=True):
        assert picture.scene == other.scene
        assert np.array_equal(picture.pixels, other.pixels) and np.array_equal(picture.mask, other.mask)


def test_bits_do_not_depend_on_processes_threads_or_what_came_before(unbroken: list[Picture]) -> None:
    with BlenderRenderer("draft", "cpu", CLEVR.introduce(CONE), processes=2, threads=2) as blender:
        pictures = blender.render([*prior_scenes(3), crowd(14), *reversed(prior_scenes(3))])
        assert len(blender.process_ids()) == 2
    check_same(pictures[:3], unbroken)
    check_same(pictures[:3:-1], unbroken)


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores, on Linux",
)
def test_one_thread_is_one_thread_on_any_core() -> None:
    """Threads of Blender's own that find no work take time from other processes (`blender_child/main.py`)."""
    counts = []
    for threads in (1, 2):
        with BlenderRenderer("draft", "cpu", threads=threads) as blender:
            blender.render(prior_scenes(3)[:1])
            (process,) = blender.process_ids()
            tasks = [int(task.name) for task in Path(f"/proc/{process}/task").iterdir()]
            assert all(os.sched_getaffinity(task) == os.sched_getaffinity(0) for task in tasks)
        counts.append(len(tasks))
    assert counts[0] < counts[1]


def test_a_kill_at_any_moment_loses_nothing(unbroken: list[Picture]) -> None:
    rng = np.random.default_rng(4)
    with BlenderRenderer("draft", "cpu") as blender:
        for delay_s in rng.uniform(0.0, 1.0, size=10):
            killer = threading.Timer(float(delay_s), kill_all, [blender])
            killer.start()
            check_same(blender.render(prior_scenes(3)), unbroken)
            killer.join()


def kill_all(blender: BlenderRenderer) -> None:
    for pid in blender.process_ids():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_process_that_stops_is_replaced(unbroken: list[Picture]) -> None:
    with BlenderRenderer("draft", "cpu", timeout_s=4.0) as blender:
        blender.render(prior_scenes(3)[:1])
        (pid,) = blender.process_ids()
        os.kill(pid, signal.SIGSTOP)
        check_same(blender.render(prior_scenes(3)), unbroken)
        assert blender.process_ids() != [pid]


def test_blender_ends_when_its_parent_is_killed_and_leaves_no_folder(tmp_path: Path) -> None:
    code = (
        "import sys; pass\n"
        "from tests.worlds.render_worlds import three_objects\n"
        "from trex.render.blender.blender_renderer import BlenderRenderer\n"
        "blender = BlenderRenderer('clevr', 'auto')\n"
        "assert blender.device  # which Blender alone knows: it runs now\n"
        "print(*blender.process_ids(), flush=True)\n"
        "blender.render([three_objects()])\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    watch = os.pidfd_open(child)  # readable once the process has ended
    parent.kill()
    parent.wait()
    parent.stdout.close()
    ended, _, _ = select.select([watch], [], [], 60.0)
    os.close(watch)
    assert ended, "the Blender process goes on without its parent"
    assert list(tmp_path.iterdir()) == []


SAVE = """
import json, os, sys
from pathlib import Path
from tests.worlds.render_worlds import prior_scenes
from trex.render.assets import base_scene, hashed, mesh_paths
from trex.render.blender.settings import Settings
from trex.render.blender_child.session import Session
from trex.render.presets import preset_named
from trex.scenes.scene import scene_to_dict
from trex.scenes.vocabulary import CLEVR
import bpy
out = Path(sys.argv[1])
settings = Settings(preset_named("draft"), "cpu", base_scene(), hashed(mesh_paths(CLEVR)), threads=1)
session = Session(json.loads(json.dumps(settings.header())))  # as by the pipe
_, (pixels, mask) = session.answer({"request": 1, "scene": scene_to_dict(prior_scenes(1)[0])})
(out / "pixels").write_bytes(pixels)
scene = session.stage.scene
scene.render.filepath = str(out / "blender.png")
scene.render.image_settings.file_format = "PNG"
scene.render.image_settings.color_mode = "RGB"
bpy.ops.render.render(write_still=True)
os._exit(0)
"""


def test_pixels_are_those_that_blender_saves(tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests")]),
        "BLENDER_USER_RESOURCES": str(tmp_path),
    }
    command = [sys.executable, "-P", "-c", SAVE, str(tmp_path)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=240)
    ours = np.frombuffer((tmp_path / "pixels").read_bytes(), dtype=np.uint8).reshape(80, 120, 3)
    saved = np.asarray(Image.open(tmp_path / "blender.png").convert("RGB"))
    assert np.abs(ours.astype(int) - saved).max() <= 1
    assert np.abs(ours[::-1].astype(int) - saved).max() > 50  # control: upside down is something else


NUISANCES = """
import os
import bpy
from trex.foundation.errors import InputError
from trex.render.assets import base_scene
from trex.render.blender_child.stage import base_values
from trex.scenes.scene import Nuisance
bpy.ops.wm.open_mainfile(filepath=str(base_scene()), load_ui=False)
background = 'world.node_tree.nodes["Background"].inputs["Color"].default_value'
for path, n in (
    ("cycles.film_exposure", 1),
    (background, 3),
    (background, 5),
    ('objects["Table"].location', 3),
    ('objects["Ground"].active_material', 3),
    ("cycles.samples", 1),
):
    try:
        print(len(base_values(bpy.context.scene, Nuisance("odd", n, "", 0.1, path, "", ""))), flush=True)
    except InputError as error:
        print(error, flush=True)
os._exit(0)  # Blender's exit may hang
"""


def test_the_path_of_a_nuisance_is_checked() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", NUISANCES],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=True,
        capture_output=True,
        text=True,
        timeout=240,
    )
    text, color, too_many, *missing = done.stdout.splitlines()[-6:]
    assert (text, color) == ("1", "4")
    assert "'odd' has 5 coordinates, but the value at" in too_many and "has 4" in too_many
    assert all("no decimal number or numbers at" in line and "base_scene.blend" in line for line in missing)
    assert len(missing) == 3


GROUND = """
import json, os, sys
from pathlib import Path
from tests.worlds.render_worlds import prior_scenes
from trex.render.assets import base_scene, hashed, mesh_paths
from trex.render.blender.settings import Settings
from trex.render.blender_child.session import Session
from trex.render.blender_child.stage import base_values
from trex.render.presets import preset_named
from trex.scenes.scene import Nuisance, scene_to_dict
from trex.scenes.vocabulary import CLEVR
import bpy
settings = Settings(preset_named("draft"), "cpu", base_scene(), hashed(mesh_paths(CLEVR)), threads=1)
session = Session(json.loads(json.dumps(settings.header())))
def write(name):
    _, (pixels, _) = session.answer({"request": 1, "scene": scene_to_dict(prior_scenes(1)[0])})
    (Path(sys.argv[1]) / name).write_bytes(pixels)
path = 'objects["Ground"].active_material.node_tree.nodes["Diffuse"].inputs["Color"].default_value'
color = base_values(session.stage.scene, Nuisance("ground", 3, "", 0.1, path, "", ""))
ground = session.stage.scene.objects["Ground"]
write("gray")
session.stage.scene.path_resolve(path.rpartition(".")[0]).default_value = (0.7, 0.7, 0.7, 1.0)
write("darker")
ground.active_material = None
write("bare")
print(json.dumps([list(bpy.app.version), [round(value, 6) for value in color]]), flush=True)
os._exit(0)
"""


def test_the_ground_is_the_diffuse_gray_that_cycles_gave_what_has_no_material(tmp_path: Path) -> None:
    """The same bytes before Blender 5.0; since then, Cycles gives it a glossy material."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "BLENDER_USER_RESOURCES": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", GROUND, str(tmp_path)],
        env=environment, check=True, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    version, color = json.loads(done.stdout.splitlines()[-1])
    gray, darker, bare = (
        np.frombuffer((tmp_path / name).read_bytes(), dtype=np.uint8).astype(int)
        for name in ("gray", "darker", "bare")
    )
    assert color == [0.8, 0.8, 0.8, 1.0]
    assert (gray - darker).mean() > 5  # control: a change of the material is seen
    if version < [5, 0]:
        assert np.array_equal(gray, bare)
    else:
        assert np.abs(gray - bare).mean() > 0.5


@pytest.fixture(scope="module")
def masks() -> Iterator[BlenderRenderer]:
    with BlenderRenderer(MASKS, "cpu", CLEVR.introduce(CONE)) as blender:
        yield blender


def test_masks_agree_with_the_analytic_id_map(masks: BlenderRenderer) -> None:
    scenes = prior_scenes(6)
    disagreements = objects = 0
    for scene, picture in zip(scenes, masks.render(scenes), strict=True):
        exact = id_map(scene, CLEVR)
        assert (picture.mask != exact).mean() < 0.02  # the map's edges are sharper than the meshes'
        counted = picture.visible_pixels(len(scene.objects))
        disagreements += int(((counted >= 200) != (visible_pixels(scene, CLEVR) >= 200)).sum())
        objects += len(scene.objects)
    assert disagreements == 0, f"{disagreements} of {objects} objects"


@pytest.mark.parametrize("shape", ["cube", "sphere", "cylinder", "cone"])
def test_every_shape_is_where_the_id_map_has_it_turned_the_same_way(
    masks: BlenderRenderer, shape: str
) -> None:
    turned, back = (alone(shape, rotation) for rotation in (0.5, -0.5))
    mask = masks.render([turned])[0].mask
    agreement = overlap(mask, id_map(turned, masks.vocabulary))
    assert agreement > (0.9 if shape == "cube" else 0.97)  # the cube's edges are rounded
    if shape == "cube":  # the control: a turn the other way is seen
        assert overlap(mask, id_map(back, masks.vocabulary)) < agreement - 0.05
    shifted = np.roll(mask, 4, axis=1)
    assert overlap(shifted, id_map(turned, masks.vocabulary)) < agreement


def alone(shape: str, rotation: float) -> Scene:
    item = SceneObject(shape, "large", "red", "metal", 0.0, 0.0, rotation)
    return Scene((item,), Nuisances(camera=(0.4, -0.3, 0.2)))


def overlap(first: Bytes, second: Bytes) -> float:
    """Intersection over union of what is not background."""
    return float(((first > 0) & (second > 0)).sum() / ((first > 0) | (second > 0)).sum())


def test_a_gpu_that_is_not_there_is_refused() -> None:
    with (
        BlenderRenderer("draft", "metal") as blender,
        pytest.raises(InputError, match=r"metal.*this machine.*cpu"),
    ):
        blender.render(prior_scenes(3)[:1])


@pytest.mark.gpu
def test_a_gpu_gives_the_same_masks_and_nearly_the_same_pixels(unbroken: list[Picture]) -> None:
    with BlenderRenderer("draft", "auto") as blender:
        if blender.device == "cpu":
            pytest.skip("Cycles finds no GPU on this machine")
        pictures = blender.render(prior_scenes(3))
    for picture, other in zip(pictures, unbroken, strict=True):
        assert (picture.mask != other.mask).mean() < 0.005
        assert np.abs(picture.pixels.astype(int) - other.pixels).mean() < 3.0


@pytest.mark.gpu
def test_a_gpu_repeats_a_picture_within_a_few_gray_levels() -> None:
    pictures = []
    for _ in range(2):
        with BlenderRenderer("fast", "auto") as blender:
            if blender.device == "cpu":
                pytest.skip("Cycles finds no GPU on this machine")
            pictures.append(blender.render(prior_scenes(3)))
    for picture, other in zip(*pictures, strict=True):
        assert (picture.mask == other.mask).all()
        assert np.abs(picture.pixels.astype(int) - other.pixels).max() <= 4


@pytest.mark.slow
def test_a_mesh_that_changes_after_the_renderer_was_made_is_refused(tmp_path: Path) -> None:
    """Planted bug: pictures of the new mesh were kept under the old one's key."""
    mesh = tmp_path / "pyramid.obj"
    text = "v -1 -1 -1\nv 1 -1 -1\nv 0 1 -1\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    mesh.write_text(text)
    vocabulary = CLEVR.introduce(replace(CONE, name="pyramid", mesh=str(mesh)))
    scene = Scene((SceneObject("pyramid", "large", "red", "rubber", 0.0, 0.0, 0.0),), Nuisances())
    with BlenderRenderer("draft", "cpu", vocabulary) as blender:
        mesh.write_text(text.replace("v 0 0 1", "v 0 0 0.5"))
        with pytest.raises(InputError, match="has changed since this renderer was made"):
            blender.render([scene])
        mesh.write_text(text)
        assert (blender.render([scene])[0].mask == 1).any()
