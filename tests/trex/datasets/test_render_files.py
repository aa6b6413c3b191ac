"""Scenes that `trex render scenes` takes: shapes of one's own, and the number of objects as a user types it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from trex.datasets import render_files
from trex.datasets.render_files import BATCH, drawn_scenes
from trex.query.shape_cards import SHIPPED
from trex.render.ahead import LEAST_CROWDED
from trex.render.checks import check_scenes
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_to_dict
from trex.scenes.vocabulary import CLEVR, Vocabulary


class NoBlender:
    """Takes and refuses the scenes that Blender's renderer does; its pictures are the fake's."""

    def __init__(self, preset: str, device: str, vocabulary: Vocabulary, processes: int) -> None:
        self.vocabulary = vocabulary

    def __enter__(self) -> NoBlender:
        return self

    def __exit__(self, *_: object) -> None: ...

    def render(self, scenes: list[Scene]) -> list[Picture]:
        return list(FakeRenderer(48, 32, self.vocabulary).render(scenes))

    def blend_file(self, scene: Scene) -> bytes:
        check_scenes([scene], self.vocabulary)
        return self.vocabulary.card(scene.objects[0].shape).mesh.encode()


def own(folder: Path, name: str, extra: str = "") -> Path:
    """A card of this name with the shipped cone's mesh, and one scene that has such an object."""
    shutil.copy(SHIPPED / "cone.obj", folder / "own.obj")
    (folder / "own.toml").write_text(f'name = "{name}"\noutline = "cone"\nmesh = "own.obj"\n{extra}')
    item = SceneObject(name, "large", "red", "rubber", 0.0, 0.0, 0.0)
    (folder / "scene.json").write_text(json.dumps(scene_to_dict(Scene((item,), Nuisances()))))
    return folder / "scene.json"


@pytest.mark.parametrize("form", ["png", "blend"])
@pytest.mark.parametrize("name", ["pylon", "cone"])
def test_a_scene_with_a_shape_of_ones_own_is_rendered(
    form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: only shipped shapes are known; or the shipped shape of the same name is taken for one's own."""
    monkeypatch.setattr(render_files, "BlenderRenderer", NoBlender)
    monkeypatch.chdir(tmp_path)
    scene = own(tmp_path, name)
    if name == "pylon":
        refused(trex("render", "scenes", scene, "--format", form), "pylon")
    trex_done("render", "scenes", scene, "--format", form, "--introduce", "own.toml", "--out", "out")
    assert (tmp_path / "out" / f"scene.{form}").is_file()
    if form == "blend":
        assert (tmp_path / "out" / "scene.blend").read_bytes() == str(tmp_path / "own.obj").encode()


def test_a_card_that_takes_a_word_or_does_not_exist_is_refused(tmp_path: Path) -> None:
    scene = own(tmp_path, "brick", 'nouns = ["block"]\n')
    refused(trex("render", "scenes", scene, "--introduce", tmp_path / "own.toml"), "'block' means cube")
    refused(
        trex("render", "scenes", scene, "--introduce", tmp_path / "gone.toml"), "gone.toml does not exist"
    )


@pytest.mark.parametrize("objects", ["²", "3-²", "٣", "-3", "9" * 5000])
def test_a_number_of_objects_that_is_none_is_refused(objects: str) -> None:
    """Planted bug: a superscript two counts as a digit and is no number; int() takes at most 4,300 digits."""
    refused(trex("render", "scenes", "--prior", "1", f"--objects={objects}"), "is not a number or range")


def scenes_file(folder: Path, *names: str) -> Path:
    """A scenes file of CLEVR's with a scene for each of these pictures."""
    scene = Scene((SceneObject("cube", "large", "red", "rubber", 0.0, 0.0, 0.0),), Nuisances())
    path = folder / "scenes.json"
    path.write_text(json.dumps({"scenes": [to_clevr(scene, name, k) for k, name in enumerate(names)]}))
    return path


class NeverStarted(NoBlender):
    def __enter__(self) -> NoBlender:
        raise AssertionError("the renderer was started")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.png", "b/a.png"], "two scenes would be written to a.png"),
        (["a.png", "a.mask.png"], "two scenes would be written to a.mask.png"),
        (["a\0b.png"], "a plain name is allowed"),
        ([".."], "a plain name is allowed"),
        (["\ud800.png"], "surrogate"),
        (["a\nb.png"], "use a printable one"),
        (["a" * 250 + ".png"], "at most 240 bytes"),
    ],
)
def test_names_that_cannot_be_files_are_refused_before_anything_is_rendered(
    names: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: they were found while the pictures were written; of two of one name, one was lost."""
    monkeypatch.setattr(render_files, "BlenderRenderer", NeverStarted)
    refused(trex("render", "scenes", scenes_file(tmp_path, *names), "--out", tmp_path / "out"), message)
    assert not (tmp_path / "out").exists()


def test_scenes_without_names_are_numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_files, "BlenderRenderer", NoBlender)
    trex_done("render", "scenes", scenes_file(tmp_path, "", "c.png", ""), "--out", tmp_path / "out")
    pictures = {"scene_000000.png", "c.png", "scene_000002.png"}
    assert pictures <= {path.name for path in (tmp_path / "out").iterdir()}


@pytest.mark.parametrize("form", ["png", "blend"])
def test_a_place_that_is_a_file_is_refused_before_anything_is_rendered(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render_files, "BlenderRenderer", NeverStarted)
    scenes = scenes_file(tmp_path, "a.png")
    refused(trex("render", "scenes", scenes, "--format", form, "--out", scenes), "cannot write to", "--out")


@pytest.mark.parametrize("form", ["png", "blend"])
@pytest.mark.parametrize(
    ("theirs", "text"),
    [*((f"a{end}", "{}") for end in (".png", ".json", ".mask.png", ".blend")), ("a.json", "[" * 100_000)],
)
def test_files_of_others_are_not_replaced_and_its_own_are(
    form: str, theirs: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: `trex render scenes CLEVR_scenes.json --out images` replaced CLEVR's own pictures."""
    monkeypatch.setattr(render_files, "BlenderRenderer", NoBlender)
    call = ("render", "scenes", scenes_file(tmp_path, "a.png"), "--format", form, "--out", tmp_path)
    (tmp_path / theirs).write_text(text)
    refused(trex(*call), f"{tmp_path / theirs} was not written by this command", "--out")
    assert (tmp_path / theirs).read_text() == text
    (tmp_path / theirs).unlink()
    trex_done(*call)
    trex_done(*call)


@pytest.mark.process
def test_scenes_of_the_prior_do_not_depend_on_the_processes_that_draw_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = list(drawn_scenes(LEAST_CROWDED, 3, (9, 9), 1)[1])
    monkeypatch.setattr(ScenePrior, "sample", lambda *_: pytest.fail("this process draws it itself"))
    assert list(drawn_scenes(LEAST_CROWDED, 3, (9, 9), 2)[1]) == own


def test_pictures_are_written_while_scenes_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Planted bug: all scenes were drawn before the first was rendered."""
    monkeypatch.setattr(render_files, "BlenderRenderer", NoBlender)
    names, scenes = drawn_scenes(3 * BATCH, 3, (3, 3), 1)
    done = render_files.render_files(names, scenes, tmp_path, "draft", "cpu", 1, CLEVR)
    assert next(done) == tmp_path / "scene_000000.png"
    assert len(list(scenes)) == 2 * BATCH
