"""A file from outside is a regular file of bounded size, depth and number; anything else is one line of error."""

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.bad_inputs.models import Grows
from tests.running.command_line import trex
from tests.running.runs import QUERY, read_query, run
from trex.artifacts.archives import check_inflation, open_zip
from trex.artifacts.weights import read_checkpoint
from trex.blender_assets.mesh import read_obj
from trex.clevr_models.adapters.onnx_model import read_onnx_card
from trex.commands.shell.errors import one_line
from trex.datasets.render_files import everything, read_any
from trex.farm.queue.queued_folder import QUEUED, read_queued
from trex.foundation.errors import InputError
from trex.foundation.files import read_bytes, replacing
from trex.foundation.images import read_png
from trex.foundation.parse import parse_json, parse_toml
from trex.mnist_models.published import read_idx
from trex.query.shape_cards import read_card
from trex.query.toml_file import parse_query
from trex.runs.sessions import read_sessions
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.clevr_format.scene_json import from_clevr, to_clevr
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_from_dict, scene_to_dict

READERS: dict[str, Callable[[Path], object]] = {
    "query": read_query,
    "shape card": lambda path: read_card(path.name, path.parent),
    "mesh": read_obj,
    "scene": lambda path: read_any(path, everything()),
    "scenes of a data set": lambda path: list(read_items(path, "scenes")),
    "picture": read_png,
    "idx": lambda path: read_idx(path, 3),
    "checkpoint": read_checkpoint,
    "card of ONNX": read_onnx_card,
}
OBJECT = SceneObject("cube", "small", "red", "rubber", 0.0, 1.0, 0.0)


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_and_a_device_are_refused_and_not_waited_for(reader: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device"):
        with pytest.raises(InputError, match=f"{name}|is not there"):
            READERS[reader](tmp_path / name)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_of_a_terabyte_is_refused_before_it_is_read(reader: str, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputError, match=r"MiB; the limit is"):
        READERS[reader](tmp_path / "huge")


def test_no_name_of_a_file_is_one_line(tmp_path: Path) -> None:
    for name in ("a\0b", "x" * 5000, "gone"):
        with pytest.raises(InputError) as caught:
            read_bytes(tmp_path / name)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text", ["[" * 10**5, '{"a":' * 10**5, "9" * 5000, "[NaN]", "[1e999]", "[-Infinity]"]
)
def test_json_without_end_or_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the file is not"):
        parse_json(text, "the file")


@pytest.mark.parametrize("text", ['["\\ud800"]', '{"\\uDFFF": 1}', '["\ud800"]', b'["\xed\xa0\x80"]'])
def test_half_of_a_surrogate_pair_is_refused(text: str | bytes) -> None:
    """Planted bug: Python's parser takes it, and the page that shows it cannot be written."""
    with pytest.raises(InputError, match="the file is not JSON"):
        parse_json(text, "the file")
    assert parse_json('["\\ud83d\\ude00 \\\\ud800"]', "the file") == ["\N{GRINNING FACE} \\ud800"]


@pytest.mark.parametrize(("name", "value"), [("size", ""), ("color", "zz"), ("material", "wood")])
def test_a_stored_scene_has_only_words_of_clevr(name: str, value: str) -> None:
    stored = scene_to_dict(Scene((OBJECT, replace(OBJECT, **{name: value})), Nuisances()))
    with pytest.raises(InputError, match=f"{name} '{value}' is not known"):
        scene_from_dict(stored)


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 10**5, ".".join("a" * 10**5) + " = 1", "x = nan", "x = " + "9" * 5000]
)
def test_toml_without_end_or_sense_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the file is not"):
        parse_toml(text, "the file")


@pytest.mark.parametrize("value", ["0x" + "F" * 6000, "0o" + "7" * 9000, "0b" + "1" * 30_000])
@pytest.mark.parametrize("key", ["answer", "seed", "objects"])
def test_a_huge_number_of_another_base_is_refused(value: str, key: str) -> None:
    """Planted bug: Python bounds the digits of decimal numbers alone, and fails when it prints such a one."""
    for text in (f"{key} = {value}", f"[search]\n{key} = [3, {value}]", f"{key} = {{a = -{10**300}}}"):
        with pytest.raises(InputError, match="the file is not TOML"):
            parse_toml(text, "the file")
    assert parse_toml(f"{key} = 0xFF", "the file") == {key: 255}


def test_toml_of_any_other_text_is_read() -> None:
    text = f'x = "{"a." * 10**4}"\n"a.b".c = 1.5\n'
    with pytest.raises(InputError):
        parse_toml(text, "a text that looks like a key of 10,000 parts")
    assert parse_toml('x = "..."\n"a.b".c = 1.5\n', "it") == {"x": "...", "a.b": {"c": 1.5}}


@pytest.mark.parametrize(
    "setting",
    ["target.width=true", 'target.width="0.05"', "target.width=1e-320", "target.width=nan",
     "search.steps=1" + "0" * 30, "search.seed=1" + "0" * 30, "search.scale=true", "search.scale=1e-320",
     'model.name="a\\u0000b"', 'model.name="' + "x" * 5000 + '"', f"scene.revoke={['cube'] * 10_000}",
     f"answer={['2'] * 5000}", 'question="' + "x" * 5000 + '"'],
)  # fmt: skip
def test_a_value_of_another_type_or_beyond_its_bounds_is_refused(setting: str) -> None:
    assert parse_query(QUERY, "q.toml", ["target.width=0.04"]).target.width == 0.04
    with pytest.raises(InputError) as caught:
        parse_query(QUERY, "q.toml", [setting])
    assert setting.partition("=")[0] in str(caught.value)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


MESH = "v -1 -1 -1\nv 1 -1 -1\nv 0 1 -1\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n"


def sphere(n: int) -> str:
    """An OBJ file of n vertices on a sphere that stands on z = -1, as its convex hull."""
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[0] = 0.0, 0.0, -1.0
    faces = ConvexHull(points).simplices + 1
    rows = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points] + [f"f {a} {b} {c}" for a, b, c in faces]
    return "\n".join(rows) + "\n"


def test_a_mesh_whose_hull_would_take_seconds_a_scene_is_refused(tmp_path: Path) -> None:
    """Planted bug: 800 vertices were accepted, and each scene that was drawn took a second an object."""
    card = tmp_path / "egg.toml"
    card.write_text('name = "egg"\nmesh = "egg.obj"\noutline = "mesh"\n')
    (tmp_path / "egg.obj").write_text(sphere(200))
    assert read_card(str(card), tmp_path).name == "egg"
    (tmp_path / "egg.obj").write_text(sphere(1000))
    with pytest.raises(InputError, match=r"1,996 sides, at most 500"):
        read_card(str(card), tmp_path)
    card.write_text('name = "egg"\nmesh = "egg.obj"\noutline = "sphere"\n')
    assert read_card(str(card), tmp_path).name == "egg"


def test_a_card_names_no_mesh_outside_its_folder(tmp_path: Path) -> None:
    inside, card = tmp_path / "cards", tmp_path / "cards" / "card.toml"
    (inside / "deeper").mkdir(parents=True)
    for place in (tmp_path / "m.obj", inside / "m.obj", inside / "deeper" / "m.obj"):
        place.write_text(MESH)
    (inside / "out.obj").symlink_to(tmp_path / "m.obj")
    (inside / "in.obj").symlink_to("deeper/m.obj")
    for mesh in ("m.obj", "deeper/m.obj", "in.obj"):
        card.write_text(f'name = "pyramid"\nmesh = "{mesh}"\n')
        assert read_card("card.toml", inside).name == "pyramid"
    for mesh in ("../m.obj", str(inside / "m.obj"), "out.obj", "deeper/../../m.obj"):
        card.write_text(f'name = "pyramid"\nmesh = "{mesh}"\n')
        with pytest.raises(InputError, match="outside the card's folder"):
            read_card("card.toml", inside)


def test_a_scene_of_100_000_objects_or_beyond_the_horizon_is_refused() -> None:
    scene = Scene((OBJECT,), Nuisances())
    for read, data in ((from_clevr, to_clevr(scene)), (scene_from_dict, scene_to_dict(scene))):
        (item,) = data["objects"]  # type: ignore[misc]
        with pytest.raises(InputError, match=r"100,000 objects"):
            read({**data, "objects": [item] * 100_000})
    far = Scene((SceneObject("cube", "small", "red", "rubber", 1e300, 0.0, 0.0),), Nuisances())
    with pytest.raises(InputError, match=r"-10000 to 10000"):
        scene_from_dict(scene_to_dict(far))


def test_a_checkpoint_that_grows_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    path.write_bytes(pickle.dumps(Grows(), protocol=2))
    with pytest.raises(InputError, match="nothing in it was executed"):
        read_checkpoint(path)
    torch.save({"a": torch.zeros(3)}, path)
    assert list(read_checkpoint(path)[0]) == ["a"]  # type: ignore[call-overload]
    data = path.read_bytes()
    with pytest.raises(InputError, match="the limit of 0 MiB"):
        check_inflation(data, "it", limit=10)


def test_a_zip_with_a_password_or_a_cut_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.pt", b"a")
    good = path.read_bytes()
    locked = bytearray(good)
    locked[good.index(b"PK\x01\x02") + 8] |= 1  # a flag in the directory
    for data, words in ((bytes(locked), "is encrypted"), (good[:-9], "is damaged"), (b"PK", "is damaged")):
        path.write_bytes(data)
        with pytest.raises(InputError, match=words), open_zip(path) as archive:
            archive.read("a.pt")


def test_a_priority_or_a_time_that_is_no_such_thing_is_refused(tmp_path: Path) -> None:
    from trex.foundation.errors import RunError

    good = {
        "id": "0" * 16, "source": "/q.toml", "text": QUERY, "question": "?", "priority": 3, "added": 1.7e9,
    }  # fmt: skip
    (tmp_path / QUEUED).write_text(json.dumps(good))
    assert read_queued(tmp_path).priority == 3
    for change in ({"priority": 10**30}, {"priority": True}, {"added": 1e300}, {"added": float("nan")}):
        (tmp_path / QUEUED).write_text(json.dumps(good | change))
        with pytest.raises(RunError, match=r"damaged|not JSON"):
            read_queued(tmp_path)


def test_garbage_among_the_sessions_is_told_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = '{"began": "2026-01-01T00:00:00+00:00", "seconds": 2.0, "renders": 3}\n'
    bad = '{"began": 1, "seconds": "long", "renders": null}\n[[[\n{"began": "x", "seconds": NaN, "renders": 1}\n'
    (tmp_path / "sessions.jsonl").write_text(good + bad + good)
    assert [session.renders for session in read_sessions(tmp_path)] == [3, 3]
    assert "3 damaged lines are ignored, the first is line 2" in caplog.text


def test_what_is_written_halfway_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with suppress(KeyError), replacing(path) as stream:
        stream.write(b"half")
        raise KeyError
    assert path.read_bytes() == b"old"
    with replacing(path) as stream:
        stream.write(b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_manifest_that_is_nested_or_asks_for_no_answer_is_refused(tmp_path: Path) -> None:
    from trex.foundation.errors import RunError
    from trex.runs.manifest import parse_manifest

    text = (run(tmp_path).folder / "run.json").read_text()
    assert parse_manifest(text, "run.json").query.answer == ("2",)
    for query in ({}, {"answer": "purple"}, {"answer": ["1", "2"]}):
        changed = json.dumps({**json.loads(text), "query": query})
        with pytest.raises(RunError, match=r"run\.json is damaged: query"):
            parse_manifest(changed, "run.json")
    with pytest.raises(RunError, match="nested more than 100 levels deep"):
        parse_manifest("[" * 100_000, "run.json")


def test_an_error_is_one_line_whatever_it_repeats(tmp_path: Path) -> None:
    scene = to_clevr(Scene((OBJECT,), Nuisances()))
    (item,) = scene["objects"]  # type: ignore[misc]
    for word in ("c" * 100_000, "a\nb\x07"):
        path = tmp_path / "scene.json"
        path.write_text(json.dumps({**scene, "objects": [item | {"shape": word}]}))
        result = trex("render", "scenes", path)
        (line,) = result.stderr.rstrip("\n").split("\n")
        assert line.startswith("error: ") and line.isprintable() and len(line) < 2500
    assert one_line("a\nb\x07" + "x" * 10_000).startswith("a b\\x07xx")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--seed=-1", "is not possible"),
        ("--processes=0", "--processes 0: give 1 to 256"),
        ("--processes=99999", "--processes 99999: give 1 to 256"),
        ("--prior=1000000", "is not possible"),
    ],
)
def test_a_number_that_nothing_can_be_rendered_with_is_refused(words: str, says: str, tmp_path: Path) -> None:
    result = trex("render", "scenes", "--prior", "1", "--out", tmp_path / "out", words)
    assert result.exit_code == 2
    assert says in result.stderr
