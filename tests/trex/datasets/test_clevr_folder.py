"""A damaged data folder: what is wrong is told file by file, the rest is used, and nothing outside is read."""

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.bad_inputs.scenes import png
from tests.running.command_line import refused, trex
from tests.worlds.baseline_worlds import QUERY, Folder, pixels_with, scene_with, write_query
from trex.datasets.clevr_folder import ClevrFolder
from trex.foundation.errors import InputError
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.vocabulary import CLEVR


def notes(folder: ClevrFolder) -> dict[str, str]:
    list(folder)
    return dict(folder.problems)


@pytest.fixture
def data(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "data")
    for red in range(4):
        folder.add("val", float(red), scene_with(red))
    return folder


def opened(data: Folder, *splits: str) -> ClevrFolder:
    return ClevrFolder(data.path, splits, CLEVR)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "not a readable PNG or JPEG: it is empty"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:120]), "not a readable PNG"),
    "text": (lambda path: path.write_text("a picture"), "not a readable PNG"),
    "a gif in disguise": (
        lambda path: Image.fromarray(pixels_with(1)).save(path, format="GIF"),
        "not a readable PNG or JPEG but a GIF; convert it",
    ),
    "square": (
        lambda path: Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(path),
        "9x9 is not 3 wide to 2 high",
    ),
    "large": (
        lambda path: path.write_bytes(png(5250, 3500, zlib.compress(b""))),
        "CLEVR_val_000001.png has 5250x3500 pixels, more than the limit",
    ),
    "a bomb": (lambda path: path.write_bytes(png(60000, 40000, zlib.compress(b""))), "not a readable PNG"),
    "broken inside": (lambda path: path.write_bytes(png(120, 80, b"not deflated")), "not a readable PNG"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_picture_is_told_and_the_others_are_used(kind: str, data: Folder) -> None:
    damage, words = DAMAGE[kind]
    damage(data.path / "images/val/CLEVR_val_000001.png")
    folder = opened(data)
    assert [example.name[-5] for example in folder] == ["0", "2", "3"]
    assert words in notes(folder)["images/val/CLEVR_val_000001.png"]


def test_pictures_that_are_not_read_are_told(data: Folder) -> None:
    """Silence would let a user take the pictures that were scored for all."""
    images = data.path / "images/val"
    Image.fromarray(pixels_with(1)).save(images / "CLEVR_val_000001.JPG", format="JPEG")
    (images / "deep").mkdir()
    shutil.copy(images / "CLEVR_val_000001.png", images / "deep")
    (images / "notes.txt").write_text("no picture")
    (images / ".hidden.jpg").write_text("of a program")
    told = (
        "2 pictures are left out: only PNGs and JPEGs in images/ and images/SPLIT/ are read, one of each name"
    )
    assert notes(opened(data)) == {"images/val/CLEVR_val_000001.JPG": f"{told}; convert or move them"}
    assert len(list(opened(data))) == 4
    data.add("test", 1.0)
    assert not any(told in note for note in notes(opened(data, "test")).values())


def test_a_good_folder_has_no_notes_and_all_scenes(data: Folder) -> None:
    folder = opened(data)
    assert [example.scene for example in folder] == [scene_with(red) for red in range(4)]
    assert folder.problems == ()
    assert folder.words == "data: 4 of val"


def test_pictures_without_scenes_are_looked_at(data: Folder) -> None:
    data.add("val", 1.0)
    data.add("test", 1.0)
    data.add("test", 1.0)
    folder = opened(data)
    assert [example.scene is None for example in folder] == [True, True, False, False, False, False, True]
    found = notes(folder)
    assert "no scene" in found["images/val/CLEVR_val_000004.png"]
    assert "its 2 pictures" in found["images/test"]
    assert len(found) == 2


def test_scenes_without_pictures_are_told(data: Folder) -> None:
    (data.path / "images/val/CLEVR_val_000002.png").unlink()
    data.records["train"] = [to_clevr(scene_with(1), "CLEVR_train_000000.png", 0, "train")]
    data.write()
    found = notes(opened(data))
    assert "CLEVR_val_000002.png is not there" in found["scenes/CLEVR_val_scenes.json: scene 2"]
    assert "no picture of split 'train'" in found["scenes/CLEVR_train_scenes.json"]


def test_a_scene_that_names_no_picture_and_no_split_is_told(data: Folder) -> None:
    """It was said that images/CLEVR__000000.png is not there."""
    (data.path / "scenes/CLEVR_val_scenes.json").rename(data.path / "scenes/mine.json")
    text = (data.path / "scenes/mine.json").read_text()
    (data.path / "scenes/mine.json").write_text(
        text.replace("image_filename", "name").replace('"split"', '"part"')
    )
    found = notes(opened(data))
    assert "image_filename" in found["scenes/mine.json: scene 0"] and "not there" not in str(found)


BAD_SCENES = {
    "no object": (lambda record: record | {"objects": 3}, "expected a list"),
    "unknown shape": (
        lambda record: record | {"objects": [record["objects"][0] | {"shape": "cone"}]},
        "shape 'cone' is not known",
    ),
    "no place": (
        lambda record: record | {"objects": [record["objects"][0] | {"3d_coords": [0, None, 1]}]},
        "expected a finite number",
    ),
}


@pytest.mark.parametrize("kind", BAD_SCENES)
def test_a_damaged_scene_leaves_its_picture_without_a_truth(kind: str, data: Folder) -> None:
    change, words = BAD_SCENES[kind]
    data.records["val"][2] = change(data.records["val"][2])  # type: ignore[no-untyped-call]
    data.write()
    folder = opened(data)
    assert [example.scene is None for example in folder] == [False, False, True, False]
    (problem,) = folder.problems
    assert problem.file == "scenes/CLEVR_val_scenes.json: scene 2"
    assert words in problem.what
    assert "without a true answer" in problem.what


def test_a_cut_scenes_file_keeps_the_scenes_before_the_cut(data: Folder) -> None:
    path = data.path / "scenes/CLEVR_val_scenes.json"
    path.write_text(path.read_text()[: path.read_text().index("CLEVR_val_000002")])
    folder = opened(data)
    assert [example.scene is not None for example in folder] == [True, True, False, False]
    assert "get or write it again" in notes(folder)["scenes/CLEVR_val_scenes.json"]


ESCAPES = ("../../etc/passwd", "/etc/passwd", "..", "a/b.png", "..\\up.png", "nul\0.png", 3)


@pytest.mark.parametrize("key", ["image_filename", "split"])
@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_that_leads_out_of_the_folder_is_refused(name: object, key: str, data: Folder) -> None:
    data.records["val"][1] |= {key: name}
    data.write()
    folder = opened(data)
    assert [example.scene is None for example in folder] == [False, True, False, False]
    found = notes(folder)["scenes/CLEVR_val_scenes.json: scene 1"]
    assert "a plain name is allowed, no path" in found or "expected a string" in found


def check_not_joined(data: Folder) -> None:
    scenes = {example.name: example.scene for example in opened(data)}
    assert scenes["other/CLEVR_other_000000.png"] is None


@pytest.mark.parametrize("name", ["../other/CLEVR_other_000000.png", "other/CLEVR_other_000000.png"])
def test_a_scene_is_not_joined_with_a_picture_elsewhere(name: str, data: Folder) -> None:
    data.add("other", 1.0)
    data.records["val"].append(to_clevr(scene_with(3), name, 9, "val"))
    data.write()
    check_not_joined(data)


def test_taking_any_path_is_caught(data: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trex.datasets.clevr_files.check_plain", lambda *_: None)
    data.add("other", 1.0)
    data.records["val"].append(to_clevr(scene_with(3), "other/CLEVR_other_000000.png", 9, "val"))
    data.write()
    with pytest.raises(AssertionError):
        check_not_joined(data)


def test_two_scenes_of_one_picture(data: Folder) -> None:
    data.records["val"].append(to_clevr(scene_with(3), "CLEVR_val_000000.png", 0, "val"))
    data.write()
    folder = opened(data)
    assert next(iter(folder)).scene == scene_with(0)
    assert "a second scene" in notes(folder)["scenes/CLEVR_val_scenes.json: scene 4"]


def test_a_data_set_that_is_still_being_rendered(data: Folder) -> None:
    whole = data.path / "scenes/CLEVR_val_scenes.json"
    lines = "".join(json.dumps(record) + "\n" for record in json.loads(whole.read_text())["scenes"][:2])
    (data.path / "scenes/val.jsonl").write_text(lines + '{"half')
    assert sum(example.scene is not None for example in opened(data)) == 4  # the finished file goes first
    whole.unlink()
    assert [example.scene is not None for example in opened(data)] == [True, True, False, False]


def test_pictures_without_splits(data: Folder) -> None:
    flat = Folder(data.path.parent / "flat")
    flat.picture("", "CLEVR_new_000000.png", pixels_with(1))
    flat.records["new"] = [to_clevr(scene_with(1), "CLEVR_new_000000.png", 0, "new")]
    flat.write()
    (example,) = opened(flat)
    assert (example.name, example.split, example.scene) == ("CLEVR_new_000000.png", "", scene_with(1))


def test_folders_that_hold_nothing_usable_are_refused(tmp_path: Path, data: Folder) -> None:
    query, out = write_query(tmp_path), tmp_path / "out"
    refused(
        trex("baseline", query, "--dataset", tmp_path / "gone", "--out", out),
        "gone does not exist; give",
        "images/SPLIT",
    )
    (tmp_path / "bare/images/val").mkdir(parents=True)
    refused(trex("baseline", query, "--dataset", tmp_path / "bare", "--out", out), "holds no PNG or JPEG")
    refused(
        trex("baseline", query, "--dataset", data.path, "--split", "vall", "--out", out), "'vall'", "'val'"
    )
    for path in (data.path / "images/val").glob("*.png"):
        path.write_bytes(b"")
    refused(trex("baseline", query, "--dataset", data.path, "--out", out), "no picture can be used", "000000")
    assert not out.exists()


def test_bad_questions_are_refused_before_anything_is_looked_at(
    tmp_path: Path, data: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a picture was read")

    monkeypatch.setattr("trex.datasets.clevr_files.read_pixels", read)
    query = write_query(tmp_path)
    refused(trex("baseline", query), "--dataset DIR", "--rendered N")
    refused(trex("baseline", query, "--dataset", data.path, "--rendered", 3), "either --dataset")
    refused(trex("baseline", query, "--rendered", 3, "--split", "val"), "--split belongs")
    refused(trex("baseline", query, "--rendered", 3, "--world", "moon"), "'moon'", "query, clevr")
    refused(trex("baseline", query, "--rendered", 0), "0 scenes")
    refused(trex("baseline", tmp_path / "gone.toml", "--dataset", data.path), "cannot be read")
    refused(trex("baseline", query, "--dataset", data.path, "--model", "resnet"), "'resnet'")
    refused(trex("baseline", query, "--dataset", data.path, "--beside", tmp_path), "not a run folder")
    refused(trex("baseline", query, "--dataset", data.path, "--out", data.path), "not an empty folder")


def test_a_baseline_that_is_damaged_is_refused(tmp_path: Path, data: Folder) -> None:
    from trex.trials.baseline.files import read_baselines

    assert (
        trex("baseline", write_query(tmp_path), "--dataset", data.path, "--out", tmp_path / "out").exit_code
        == 0
    )
    file = tmp_path / "out" / "baseline.json"
    good = json.loads(file.read_text())
    bad: list[object] = [[], {}, good | {"format": 9}, good | {"baselines": [{}]}]
    row = good["baselines"][0]["seen"][0]
    for change in ({"is_hit": 1}, {"truth": 2}, {"confidence": "much"}, {"name": None}):
        bad.append(good | {"baselines": [good["baselines"][0] | {"seen": [row | change]}]})
    for data_ in bad:
        file.write_text(json.dumps(data_))
        with pytest.raises(InputError, match="baseline"):
            read_baselines(file)
    file.write_text("{")
    with pytest.raises(InputError, match="repeat the trex baseline command that wrote it"):
        read_baselines(file)
    assert (
        trex("baseline", tmp_path / "query.toml", "--dataset", data.path, "--out", file.parent).exit_code == 0
    )
    read_baselines(file)
    file.unlink()
    with pytest.raises(InputError, match="there is no baseline"):
        read_baselines(file)


def test_the_query_of_the_tests_is_good(tmp_path: Path) -> None:
    assert trex("check", write_query(tmp_path, QUERY)).exit_code == 0
