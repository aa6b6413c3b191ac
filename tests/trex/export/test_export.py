"""Exports of a run, read back: by our own readers, by pyarrow, by a COCO decoder written here from the definition."""

from __future__ import annotations

import builtins
import html
import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from PIL import Image

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, change_manifest, leave_draws, run, write_query
from trex.datasets.clevr_folder import ClevrFolder
from trex.datasets.clevr_questions import QuestionOptions, read_folder
from trex.datasets.official_scenes import read_official
from trex.explain.stored import read_explanations
from trex.export import coco as export_coco
from trex.export.hf import without_folders
from trex.export.items import EDITED, FOUND, Exported, read_items
from trex.foundation.words import code_block, code_span, markdown_text
from trex.query.shape_cards import SHIPPED
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.scenes.clevr_format.scene_json import from_clevr, read_scenes
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import execute
from trex.scenes.vocabulary import CLEVR
from trex.search.results import read_results


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("searched"), ["search.steps=20"]).folder


@pytest.fixture(scope="module")
def explained(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained") / "run"
    shutil.copytree(searched, folder)
    result = trex("explain", folder, "--top", "2", "--nuisances", "0", "--no-saliency")
    assert result.exit_code == 0, result.stderr
    return folder


def items(folder: Path, edits: bool | None = None) -> Exported:
    with open_run(folder, for_writing=False) as opened:
        return read_items(opened, edits)


def exported(folder: Path, form: str, out: Path, *options: str) -> Path:
    result = trex("export", folder, "--format", form, "--out", out, *options)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"{form}: {out}"
    return out


# --- what is exported


def test_every_found_scene_and_every_edit_once(explained: Path) -> None:
    got = items(explained)
    with open_run(explained, for_writing=False) as folder:
        found = read_results(folder.manifest, read_draws(folder.draws)).found
        explanations = read_explanations(folder)
    assert [item.scene for item in got.of(FOUND)] == [hit.record.scene for hit in found]
    assert len(explanations) == 2
    edited = got.of(EDITED)
    assert {item.parent for item in edited} == {"CLEVR_found_000000.png", "CLEVR_found_000001.png"}
    for number, parent in enumerate(got.of(FOUND)[:2]):
        mine = [item for item in edited if item.parent == parent.name]
        explanation = explanations[parent.picture]
        single = len(explanation.removals) + len(explanation.edits or ())
        double = sum(len(effect.edits) > 1 for effect in (explanation.flip.found if explanation.flip else ()))
        assert len(mine) == single + double, number
        assert sum(len(item.scene.objects) == len(parent.scene.objects) - 1 for item in mine) >= len(
            parent.scene.objects
        )
        assert len({item.scene for item in mine}) == len(mine)
        assert parent.scene not in {item.scene for item in mine}
    assert len({item.name for item in got.items}) == len(got.items)


def test_pictures_show_the_scenes(explained: Path) -> None:
    """Each picture is the one that the renderer makes of the scene it is exported with, bit for bit."""
    from trex.render.fake import FakeRenderer

    got = items(explained)
    renderer = FakeRenderer(120, 80)
    for item in got.items:
        (picture,) = renderer.render([item.scene])
        image, mask = (np.asarray(Image.open(io.BytesIO(data))) for data in got.picture(item))
        np.testing.assert_array_equal(image, picture.pixels)
        np.testing.assert_array_equal(mask, picture.mask)


# --- clevr


def check_clevr(out: Path, wanted: Exported) -> None:
    """Our own readers get back what was exported."""
    for split in wanted.splits:
        records = list(read_scenes(out / "scenes" / f"CLEVR_{split}_scenes.json"))
        assert [record.scene for record in records] == [item.scene for item in wanted.of(split)]
        assert [record.image_filename for record in records] == [item.name for item in wanted.of(split)]
        data = json.loads((out / "questions" / f"CLEVR_{split}_questions.json").read_text())
        for question in data["questions"]:
            scene = records[question["image_index"]].scene
            assert question["image_filename"] == records[question["image_index"]].image_filename
            assert execute(program_from_json(question["program"]), scene) == question["answer"]
            assert question["question"] == "How many red things are there?"
        assert len(data["questions"]) == len(records)
        names = sorted(path.name for path in (out / "images" / split).iterdir())
        assert names == sorted(path.name for path in (out / "masks" / split).iterdir())
        assert names == [record.image_filename for record in records]


def test_clevr(explained: Path, tmp_path: Path) -> None:
    out = exported(explained, "clevr", tmp_path / "out")
    wanted = items(explained)
    check_clevr(out, wanted)
    assert sorted(path.name for path in out.iterdir()) == [
        "images",
        "masks",
        "model_answers.json",
        "questions",
        "scenes",
    ]
    output = json.loads((out / "model_answers.json").read_text())
    assert [row["image_filename"] for row in output] == [item.name for item in wanted.items]
    assert [row["edit"] is None for row in output] == [item.split == FOUND for item in wanted.items]
    for row in output:
        assert max(row["probabilities"], key=row["probabilities"].get) == row["model_answer"]
        assert sum(row["probabilities"].values()) == pytest.approx(1.0)


def test_a_question_of_another_scene_is_caught(explained: Path, tmp_path: Path) -> None:
    out = exported(explained, "clevr", tmp_path / "out")
    path = out / "questions" / "CLEVR_edited_questions.json"
    data = json.loads(path.read_text())
    for question in data["questions"]:
        question["answer"] = data["questions"][0]["answer"]
    path.write_text(json.dumps(data))
    with pytest.raises(AssertionError):
        check_clevr(out, items(explained))


def test_every_reader_of_clevr_folders_takes_it(explained: Path, tmp_path: Path) -> None:
    from trex.clevr_models.percept.training_data import load_questions, load_scenes

    out = exported(explained, "clevr", tmp_path / "out")
    n, wanted = len(items(explained).items), items(explained)
    folder = ClevrFolder(out, (), CLEVR)
    assert len([example for example in folder if example.scene is not None]) == n
    assert folder.problems == ()
    pictures = read_official(out)
    assert len(pictures) == n
    questions = [q for picture in read_folder(out, QuestionOptions()).pictures for q in picture.questions]
    assert len(questions) == n and {q.source for q in questions} == {"CLEVR"}
    assert load_scenes(out, FOUND).numbers.tolist() == [len(i.scene.objects) for i in wanted.of(FOUND)]
    assert len(load_questions(out, EDITED)) == len(wanted.of(EDITED))


def test_clevrs_own_keys_and_no_others_but_the_nuisances(explained: Path, tmp_path: Path) -> None:
    """The keys of CLEVR v1.0's val files (its images are 480x320; ours have the run's size)."""
    out = exported(explained, "clevr", tmp_path / "out")
    scene = json.loads((out / "scenes/CLEVR_found_scenes.json").read_text())["scenes"][0]
    assert set(scene) == {
        "split", "image_index", "image_filename", "objects", "relationships", "directions", "nuisances", "noise"
    }  # fmt: skip
    assert set(scene["objects"][0]) == {
        "color", "size", "rotation", "shape", "3d_coords", "material", "pixel_coords"
    }  # fmt: skip
    question = json.loads((out / "questions/CLEVR_found_questions.json").read_text())["questions"][0]
    assert set(question) == {
        "image_index", "program", "question_index", "image_filename", "question_family_index", "split", "answer",
        "question",
    }  # fmt: skip
    assert all(set(step) == {"inputs", "function", "value_inputs"} for step in question["program"])


def test_a_question_without_an_answer_is_left_out(tmp_path: Path) -> None:
    """ "The cube" is one only where there is one; a scene without an answer keeps its picture."""
    text = 'question="What color is the red cylinder?"'
    options = [text, 'answer="red"', "target.kind=threshold", "target.threshold=0.000001", "search.steps=0"]
    folder = run(tmp_path, options).folder
    got = items(folder)
    unanswered = [item for item in got.items if item.truth is None]
    assert 0 < len(unanswered) < len(got.items)
    result = trex("export", folder, "--out", tmp_path / "out")
    assert f"no true answer on {len(unanswered)} of the scenes" in result.stderr
    questions = json.loads((tmp_path / "out/questions/CLEVR_found_questions.json").read_text())["questions"]
    assert len(questions) == len(got.items) - len(unanswered)
    assert {question["answer"] for question in questions} == {"red"}
    assert len(list(read_scenes(tmp_path / "out/scenes/CLEVR_found_scenes.json"))) == len(got.items)


# --- coco


def decoded(segmentation: dict[str, list[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """COCO's uncompressed run lengths, pixel by pixel: zeros first, down each column, columns left to right."""
    height, width = segmentation["size"]
    mask = np.zeros((height, width), dtype=bool)
    at, value = 0, False
    for count in segmentation["counts"]:
        for k in range(at, at + count):
            mask[k % height, k // height] = value
        at, value = at + count, not value
    assert at == height * width
    return mask


def check_coco(out: Path, wanted: Exported) -> None:
    data = json.loads((out / "annotations.json").read_text())
    names = {category["id"]: category["name"] for category in data["categories"]}
    images = {image["id"]: image for image in data["images"]}
    assert len(images) == len(wanted.items)
    assert len({row["id"] for row in data["annotations"]}) == len(data["annotations"])
    by_image: dict[int, list[dict[str, object]]] = {number: [] for number in images}
    for row in data["annotations"]:
        by_image[row["image_id"]].append(row)
    for (number, image), item in zip(images.items(), wanted.items, strict=True):
        assert Image.open(out / "images" / image["file_name"]).size == (image["width"], image["height"])
        mask = wanted.mask(item)
        seen = np.unique(mask[mask > 0])
        assert [row["attributes"]["object"] + 1 for row in by_image[number]] == seen.tolist()  # type: ignore[index]
        for row in by_image[number]:
            at = row["attributes"]["object"]  # type: ignore[index]
            thing = item.scene.objects[at]
            assert names[row["category_id"]] == thing.shape  # type: ignore[index]
            assert row["attributes"]["color"] == thing.color  # type: ignore[index]
            shown = decoded(row["segmentation"])  # type: ignore[arg-type]
            np.testing.assert_array_equal(shown, mask == at + 1)
            assert row["area"] == shown.sum()
            rows, columns = np.nonzero(shown)
            corner = [columns.min(), rows.min()]
            size = [columns.max() - columns.min() + 1, rows.max() - rows.min() + 1]
            assert row["bbox"] == [*corner, *size]


def test_coco(searched: Path, tmp_path: Path) -> None:
    check_coco(exported(searched, "coco", tmp_path / "out"), items(searched))


@pytest.mark.parametrize("bug", ["row by row", "ones first", "object index"])
def test_a_wrong_run_length_is_caught(
    bug: str, searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = export_coco.rle_counts
    wrong = {
        "row by row": lambda seen: real(seen.T),
        "ones first": lambda seen: real(~seen),
        "object index": lambda seen: real(np.roll(seen, 1)),
    }[bug]
    monkeypatch.setattr(export_coco, "rle_counts", wrong)
    with pytest.raises(AssertionError):
        check_coco(exported(searched, "coco", tmp_path / "out"), items(searched))


def test_run_lengths_of_masks_that_touch_the_edges() -> None:
    rng = np.random.default_rng(1)
    for mask in (
        np.ones((3, 4), bool),
        np.zeros((3, 4), bool),
        *(rng.random((7, 5)) < 0.5 for _ in range(50)),
    ):
        counts = export_coco.rle_counts(mask)
        np.testing.assert_array_equal(decoded({"size": list(mask.shape), "counts": counts}), mask)
        assert all(count > 0 for count in counts[1:])


# --- parquet


def test_parquet(explained: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = exported(explained, "parquet", tmp_path / "out")
    wanted = items(explained)
    table = parquet.read_table(out / "scenes.parquet")
    rows = table.to_pylist()
    assert len(rows) == len(wanted.items)
    for row, item in zip(rows, wanted.items, strict=True):
        image, mask = wanted.picture(item)
        assert (row["image"]["bytes"], row["mask"]["bytes"]) == (image, mask)
        assert from_clevr(json.loads(row["scene"])) == item.scene
        program = program_from_json(json.loads(row["program"]))
        assert execute(program, item.scene) == row["true_answer"]
        assert (row["model_answer"], row["confidence"]) == (item.answer, item.confidence)
        given = {element["answer"]: element["probability"] for element in row["probabilities"]}
        assert given[row["model_answer"]] == max(given.values())
        assert (row["edited_from"], row["edit"]) == (item.parent or None, item.edit or None)
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == table.column_names
    assert features["image"] == features["mask"] == {"_type": "Image"}


# --- Hugging Face and FiftyOne


def test_hf_has_a_file_for_each_split_and_a_card_that_names_them(explained: Path, tmp_path: Path) -> None:
    """`datasets.load_dataset(DIR)` reads the files that the card's YAML names."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    out, wanted = exported(explained, "hf", tmp_path / "out"), items(explained)
    _, front, card = (out / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    (config,) = yaml.safe_load(front)["configs"]
    files = {item["split"]: out / item["path"] for item in config["data_files"]}
    assert list(files) == [FOUND, EDITED]
    for split, path in files.items():
        table = parquet.read_table(path)
        assert [row["image_filename"] for row in table.to_pylist()] == [
            item.name for item in wanted.of(split)
        ]
        assert f"- `{split}`: {table.num_rows} scene" in card
        named = {name for name in table.column_names if f"`{name}`" in card}
        assert named == set(table.column_names)
    assert wanted.folder.query_text.strip() in card and f"is sure of {wanted.items[0].answer}" in card
    assert str(wanted.folder.path.parent) not in card  # whoever publishes it does not publish paths


def test_the_card_says_if_an_answer_is_a_mean_over_several_pictures(searched: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "two").mkdir()
    of_two = run(tmp_path / "two", ["search.steps=20", "render.noise=2"]).folder
    says = "Answers are means over 2 pictures of each scene; the picture is the first of them."
    for folder, is_said in ((searched, False), (of_two, True)):
        out = exported(folder, "hf", tmp_path / f"out {is_said}")
        assert (says in (out / "README.md").read_text(encoding="utf-8")) == is_said


def test_no_folder_is_in_the_card_of_an_hf_export(tmp_path: Path) -> None:
    """Planted bug: the card repeats the query with the paths of its shapes, and the overrides, as they were given."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    home = tmp_path / "home of ada"
    home.mkdir()
    for suffix in ("toml", "obj"):
        shutil.copy(SHIPPED / f"cone.{suffix}", home)
    text = QUERY.replace("[scene]", f'[scene]\nintroduce = ["{home}/cone.toml"] # as in {home.parent}/notes')
    query = write_query(tmp_path, text)
    done = trex("find", query, "--out", tmp_path / "run", "--set", f'scene.introduce=["{home}/cone.toml"]')
    assert done.exit_code == 0, done.stderr
    card = (exported(tmp_path / "run", "hf", tmp_path / "out") / "README.md").read_text(encoding="utf-8")
    assert 'introduce = ["cone.toml"] # as in notes' in card
    assert '`--set scene.introduce=["cone.toml"]`' in card
    assert "home" not in card and str(tmp_path) not in card


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("model.name=/home/ada/percept.safetensors", "model.name=percept.safetensors"),
        ("hf:/home/ada/models/vilt/", "hf:vilt"),
        ('name = "iep:/a b/g.pt,~ada/e.pt"', 'name = "iep:g.pt,e.pt"'),
        ("x = ['/a b/one.toml', '~/two.toml']", "x = ['one.toml', 'two.toml']"),
        ('endpoint = "http://localhost:8000/v1"', 'endpoint = "http://localhost:8000/v1"'),
        ("shapes/own.toml, ../up.toml, 1 / 2, yes/no", "shapes/own.toml, ../up.toml, 1 / 2, yes/no"),
        ('question = "Is it 1/2?" # see /srv/x', 'question = "Is it 1/2?" # see x'),
        ("file:///home/ada/x", "file://x"),
    ],
)
def test_absolute_paths_alone_are_cut_to_their_names(text: str, cut: str) -> None:
    assert without_folders(text) == cut


def test_fiftyone_has_boxes_masks_and_both_answers(explained: Path, tmp_path: Path) -> None:
    """Fields as FiftyOne's importer reads them: file paths relative to the folder, labels by `_cls`."""
    out, wanted = exported(explained, "fiftyone", tmp_path / "out"), items(explained)
    samples = json.loads((out / "samples.json").read_text())["samples"]
    assert json.loads((out / "metadata.json").read_text())["media_type"] == "image"
    assert [element["tags"] for element in samples] == [[item.split] for item in wanted.items]
    for sample, item in zip(samples, wanted.items, strict=True):
        assert (out / sample["filepath"]).read_bytes() == wanted.picture(item)[0]
        mask = np.asarray(Image.open(out / sample["object_mask"]["mask_path"]))
        truth = sample["ground_truth"] and sample["ground_truth"]["label"]
        assert (truth, sample["prediction"]["label"]) == (item.truth, item.answer)
        assert sample["prediction"]["confidence"] == pytest.approx(np.exp(max(item.log_probs)))
        height, width = mask.shape
        boxes = sample["objects"]["detections"]
        assert {box["index"] for box in boxes} == set(np.unique(mask)) - {0}
        for box in boxes:
            rows, columns = np.nonzero(mask == box["index"])
            x, y, w, h = np.array(box["bounding_box"]) * [width, height, width, height]
            assert (x, y) == pytest.approx((columns.min(), rows.min()))
            assert (x + w, y + h) == pytest.approx((columns.max() + 1, rows.max() + 1))
            assert box["label"] == item.scene.objects[box["index"] - 1].shape


def test_without_pyarrow_it_says_how_to_get_it(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(name: str, *remaining: object) -> object:
        if name.split(".")[0] == "pyarrow":
            raise ImportError("No module named 'pyarrow'")
        return real(name, *remaining)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", absent)
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    result = trex("export", searched, "--format", "parquet", "--out", tmp_path / "out")
    refused(result, "needs pyarrow", "pip install 'bayes-trex[export]'")
    assert not (tmp_path / "out").exists()


# --- whole or not at all


def test_bad_input(searched: Path, tmp_path: Path) -> None:
    refused(trex("export", searched, "--format", "csv"), "'csv'", "clevr, coco, fiftyone, hf, parquet")
    refused(trex("export", tmp_path), "not a run folder")
    refused(trex("export", searched, "--edits"), "no edited scenes", "trex explain")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused(trex("export", searched, "--out", tmp_path / "full"), "not an empty folder")
    refused(trex("export", searched, "--out", searched), "already holds a run")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]


def test_a_run_that_found_nothing(tmp_path: Path) -> None:
    folder = run(tmp_path, ["answer=9", "search.steps=0", "search.prior_scenes=3"]).folder
    refused(trex("export", folder), "has no hit to export")
    leave_draws(folder, b"")
    refused(trex("export", folder), "no draws yet")


@pytest.mark.parametrize("form", ["clevr", "coco", "fiftyone", "hf", "parquet"])
@pytest.mark.parametrize("damage", ["gone", "cut", "another", "mask"])
def test_a_damaged_picture_leaves_nothing_behind(
    form: str, damage: str, searched: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    folder = tmp_path / "run"
    shutil.copytree(searched, folder)
    last = items(folder).of(FOUND)[-1].picture
    path = folder / "pictures" / f"{last}.png"
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "another":
        Image.fromarray(np.zeros((80, 120, 3), np.uint8)).save(path)
    else:
        Image.fromarray(np.zeros((80, 120), np.uint8)).save(folder / "pictures" / f"{last}.mask.png")
    refused(trex("export", folder, "--format", form, "--out", tmp_path / "out"), last)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_full_disk_leaves_nothing_behind(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    calls = iter(range(10**6))

    def full(_: object) -> None:
        if next(calls) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused(trex("export", searched, "--out", tmp_path / "out"), "space left")
    assert list(tmp_path.iterdir()) == []


def test_into_the_run_folder_and_not_twice(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(searched, folder)
    result = trex("export", folder, "--json")
    assert json.loads(result.stdout) == {
        "out": str(folder / "export-clevr"),
        "scenes": {"found": len(items(folder).items)},
        "unanswered": 0,
    }
    refused(trex("export", folder), "not an empty folder")
    assert trex("report", folder).exit_code == 0  # the run is a run as before


EVIL = {
    "a tag": "m<script src=x>alert(1)",
    "a picture": "![x](http://evil.example/p.png)",
    "a link": "[sign in](http://evil.example)",
    "an address": "<http://evil.example> http://evil.example www.evil.example",
    "a picture in HTML": '<img src=x onerror="alert(1)">',
    "a comment": "<!-- everything after it is hidden",
    "an entity": "&lt;b&gt;",
    "code": "`` ` `` ```",
    "a table": "a | b",
    "emphasis": "**sure** _of_ ~~it~~ \\*",
}
FENCED = "```\n<script>alert(1)</script>\n[x](http://evil.example)\n````"


def rendered(card: str) -> str:
    """The card's HTML, below its YAML, as GitHub and the Hub make it: tables, struck text, HTML let through."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(card.split("---\n", 2)[-1])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("made"), ["search.steps=4"]).folder


@pytest.mark.parametrize("kind", EVIL)
def test_a_model_and_a_query_of_somebody_else(kind: str, made: Path, tmp_path: Path) -> None:
    place = shutil.copytree(made, tmp_path / "run")

    def change(manifest: dict[str, Any]) -> None:
        manifest["facts"]["model"] = EVIL[kind]
        manifest["overrides"] = [f"model.name={EVIL[kind]}"]

    change_manifest(place, change)
    quoted = "\n".join(f"# {line}" for line in f"{EVIL[kind]}\n{FENCED}".split("\n"))
    (place / "query.toml").write_text(f'{quoted}\n{QUERY}x = """\n{FENCED}\n"""\n')
    trex_done("export", place, "--format", "hf", "--out", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    page = rendered(card)
    for tag in ("<script", "<img", "<a ", "<!--", "<strong", "<em>", "<s>"):
        assert tag not in page, page
    title = page.split("<h1>")[1].split("</h1>")[0]
    assert html.unescape(title).startswith(EVIL[kind])
    assert page.count("<table>") == 1 and "columns" in page  # what comes after the query is no part of it
    assert "&lt;script&gt;alert(1)" in page  # the query is shown, as text


@pytest.mark.parametrize("kind", EVIL)
def test_texts_spans_and_blocks_show_what_they_are_given(kind: str) -> None:
    text = EVIL[kind]
    assert html.unescape(rendered(markdown_text(text))) == f"<p>{text}</p>\n"
    assert html.unescape(rendered(code_span(text))) == f"<p><code>{text}</code></p>\n"
    block = "\n".join(code_block(FENCED, "toml"))
    assert html.unescape(rendered(block)) == f'<pre><code class="language-toml">{FENCED}\n</code></pre>\n'
