"""Data sets as people have them: from the public generator, other tools and other systems, with pictures of any kind.

Right: what can be read is; what a picture or a question loses is said once, with the first file; what blocks is named.
"""

import io
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import Result

from tests.references.official_clevr import data_file
from tests.running.command_line import refused, trex
from tests.worlds.baseline_worlds import pixels_with, scene_with, write_query
from tests.worlds.clevr_folders import (
    COUNT,
    EXIST,
    generated,
    official,
    pictures,
    question_records,
    scene_records,
    write,
)
from trex.clevr_models.percept.training_data import load_questions
from trex.datasets.clevr_folder import ClevrFolder
from trex.datasets.clevr_questions import AskedFolder, QuestionOptions, read_folder
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import read_official
from trex.datasets.render_files import everything, read_any
from trex.foundation.errors import InputError
from trex.foundation.images import SCAN, decode_picture, decode_png, read_picture
from trex.repair.results import compared
from trex.repair.scenes.proof import OfficialProof
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX, project
from trex.scenes.clevr_format.scene_json import center, to_clevr
from trex.scenes.questions.answers import answer_of, is_same
from trex.scenes.questions.program_json import lacks_words, program_to_json
from trex.scenes.questions.truth import NO_ANSWER
from trex.scenes.vocabulary import CLEVR
from trex.trials.baseline.baseline import ScoredExample, is_mistake
from trex.trials.verify import LoggedAnswers, by_type

VAL = "questions/CLEVR_val_questions.json"
HUMAN = "What would you call the thing that looks like a coin?"


def asked(data: Path, *splits: str) -> AskedFolder:
    return read_folder(data, QuestionOptions(splits))


def answers(data: Path) -> list[str]:
    return [question.answer for picture in asked(data).pictures for question in picture.questions]


def told(data: Path) -> dict[str, str]:
    """The notes of a baseline, after every picture was looked at."""
    folder = ClevrFolder(data, (), CLEVR)
    list(folder)
    return dict(folder.problems)


def verified(data: Path, *more: str) -> Result:
    return trex("models", "verify", "fake", "--dataset", data, *more)


def explained(data: Path, picture: str, *more: object) -> Result:
    words = ("--question", COUNT, "--model", "fake", "--preset", "fake")
    return trex("explain", "--dataset", data, "--image", picture, *words, *more)


# Answers.

SPELLINGS = [
    *[(spelling, "yes") for spelling in ("Yes", "YES ", "yes.", True, "True", "true")],
    *[(spelling, "no") for spelling in ("No", False, "False")],
    *[(spelling, "2") for spelling in (2, 2.0, "2", "2.0", " 2", "02", "two", "Two")],
    *[("Cube", "cube"), ("SPHERE", "sphere"), ("Grey", "gray"), (0, "0"), ("0.0", "0"), (10.0, "10")],
]


@pytest.mark.parametrize(("spelling", "answer"), SPELLINGS, ids=[repr(item) for item, _ in SPELLINGS])
def test_an_answer_is_the_same_however_it_is_spelled(spelling: object, answer: str, tmp_path: Path) -> None:
    """JSON numbers and booleans are the public generator's (clevr-dataset-gen), capitals those of spreadsheets."""
    assert answer_of(spelling) == answer and is_same(str(spelling), answer)
    data = official(tmp_path / "d", 1)
    write(data / VAL, "questions", [question_records(1, "val")[0] | {"answer": spelling}])
    assert answers(data) == [answer]
    assert load_questions(data, "val")[0].answer == answer


@pytest.mark.parametrize("other", ["2.5", "1e3", "cubes", "yes and no", "12"])
def test_other_answers_stay_others(other: str) -> None:
    """Planted bug: anything that begins alike is taken for the same."""
    assert not any(is_same(other, answer) for answer in ("2", "cube", "yes", "no", "1"))


def test_a_model_that_answers_in_capitals_is_right(tmp_path: Path) -> None:
    """In every place that compares: the accuracy check and a baseline."""
    (picture,) = asked(official(tmp_path / "d", 1)).pictures
    texts = ("1.0", "YES")
    assert by_type([(picture, LoggedAnswers("", texts))], "CLEVR")["all"].right == 2
    seen = ScoredExample("a", "val", "YES", 0.9, 0.9, True, "yes", is_mistake("yes", "YES", ()), None)
    assert seen.is_right and not seen.is_mistake
    assert is_mistake("no", "YES", ()) and is_mistake("no", "Yes", ("Yes",))
    assert not replace(seen, truth=NO_ANSWER).is_right


@pytest.mark.parametrize("unusable", [None, "", [], ["2"], {}, 2.5])
def test_questions_without_an_answer_are_counted_not_fatal(unusable: object, tmp_path: Path) -> None:
    """The test split of CLEVR v1.0 has no answers; other data sets write null."""
    data = official(tmp_path / "d")
    first, *remaining = question_records(2, "val")
    write(data / VAL, "questions", [first | {"answer": unusable}, *remaining])
    found = asked(data)
    assert (sum(len(picture.questions) for picture in found.pictures), found.skipped) == (3, 1)
    assert "1 question has" in found.notes[0] and f"{VAL}: question 0" in found.notes[0]


# Questions.


@pytest.mark.parametrize(
    ("code", "answer"), [(1, "yes"), ("0", "no"), (0.0, "no"), ("Y", "yes"), ("f", "no")]
)
def test_yes_and_no_may_be_written_as_codes(code: object, answer: str, tmp_path: Path) -> None:
    data, records = official(tmp_path / "d"), question_records(2, "val")
    write(
        data / VAL,
        "questions",
        [{**record, "answer": code} for record in records if record["question"] == EXIST],
    )
    assert answers(data) == [answer] * 2


@pytest.mark.parametrize(
    ("text", "answer"),
    [(COUNT, True), (COUNT, "-1"), (COUNT, "eleven"), (EXIST, 2), (EXIST, "n/a"), (EXIST, "red")],
)
def test_an_answer_that_its_question_cannot_have_is_told(text: str, answer: object, tmp_path: Path) -> None:
    """No model can be right: each has a mistake more."""
    data, records = official(tmp_path / "d"), question_records(2, "val")
    records[[record["question"] for record in records].index(text)]["answer"] = answer
    write(data / VAL, "questions", records)
    found = asked(data)
    assert len(answers(data)) == 4 and found.skipped == 0
    (note,) = found.notes
    assert note.startswith("1 question has an answer that it cannot have; every model")
    assert repr(text) in note


def test_programs_that_lost_their_words_are_read_as_english(tmp_path: Path) -> None:
    """The generator writes "value_inputs": [] for every question but the first of a template's program."""
    data = generated(tmp_path / "output")
    records = question_records()
    for record in records:
        for step in record["program"]:  # type: ignore[attr-defined]
            step["value_inputs"] = []
    write(data / "CLEVR_questions.json", "questions", records)
    found = asked(data)
    assert found.skipped == 0 and found.notes[0].startswith("4 questions have no complete program")
    filters = [
        step.value_inputs for step in found.pictures[0].questions[0].program if "filter" in step.function
    ]
    assert filters == [("red",)]


def test_the_generator_s_own_questions_are_read_to_the_last_one(tmp_path: Path) -> None:
    source = data_file("CLEVR_generated/questions/CLEVR_new_questions.json")
    (tmp_path / "d/questions").mkdir(parents=True)
    shutil.copy(source, tmp_path / "d/questions")
    pictures(tmp_path / "d/images/new", 10)
    found = asked(tmp_path / "d")
    assert (sum(len(picture.questions) for picture in found.pictures), found.skipped) == (1160, 0)
    assert not any(
        lacks_words(program_to_json(q.program)) for picture in found.pictures for q in picture.questions
    )
    assert {q.answer for picture in found.pictures for q in picture.questions} >= {"yes", "no", "0", "cube"}
    assert found.notes[0].startswith("882 questions have no complete program")


def without_programs(data: Path, *texts: str, **more: object) -> None:
    """Questions with answers alone, the form of CLEVR-Humans; those with a text ask that."""
    records = [
        {key: value for key, value in record.items() if key != "program"}
        | ({"question": text} if text else {})
        | more
        for record, text in zip(question_records(2, "val"), texts, strict=True)
    ]
    write(data / VAL, "questions", records)


def test_questions_without_programs_are_read_if_they_have_a_form_of_clevr(tmp_path: Path) -> None:
    """The others are counted, and the first is named."""
    data = official(tmp_path / "d")
    without_programs(data, "", "", "", "")
    found = json.loads(verified(data, "--json").stdout)
    assert found["official"]["count"]["right"] == found["official"]["count"]["of"] == 2
    assert found["skipped"] == 0
    assert found["notes"][0].startswith("4 questions have no complete program and were read as English")
    without_programs(data, "", HUMAN, "", HUMAN)
    found = json.loads(verified(data, "--json").stdout)
    assert (found["official"]["all"]["of"], found["skipped"]) == (2, 2)
    note = next(note for note in found["notes"] if "not read" in note)
    assert note.startswith("2 questions have no program and are not read")
    assert f"{VAL}: question 1".removeprefix("questions/") in note and "coin" in note


@pytest.mark.parametrize("program", [None, [], ""])
def test_nothing_but_questions_that_cannot_be_read_is_refused(program: object, tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    without_programs(data, HUMAN, HUMAN, HUMAN, HUMAN, program=program)
    refused(verified(data), "4 questions have no program", "CLEVR_val_questions.json: question 0", "coin")


@pytest.mark.parametrize("name", ["CLEVR-Humans-val.json", "CLEVR_val_questions_with_ans.jsonl", "all.jsonl"])
def test_files_of_questions_by_other_names(name: str, tmp_path: Path) -> None:
    """CLEVR-Humans (clevr-iep); JSON Lines as shikra's configurations name them."""
    data = official(tmp_path / "d")
    records = question_records(2, "val")
    (data / VAL).unlink()
    if name.endswith(".jsonl"):
        (data / "questions" / name).write_text("\n".join(map(json.dumps, records)))  # no newline at the end
    else:
        write(data / "questions" / name, "questions", records)
    assert answers(data) == ["1", "yes", "2", "yes"]


def test_lines_of_another_source_are_read_beside_a_whole_file(tmp_path: Path) -> None:
    """Planted bug: every .jsonl of a split that has a .json counted as replaced by it."""
    data = official(tmp_path / "d")
    lines(data / "questions/CLOSURE_val_questions.jsonl", question_records(2, "val"), "\n")
    found = [question.source for picture in asked(data).pictures for question in picture.questions]
    assert sorted(found) == ["CLEVR"] * 4 + ["CLOSURE"] * 4


def test_questions_that_name_their_picture_by_another_key(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    left_out = ({"image_filename"}, {"image_filename", "image"}, {"split"}, {"split", "image_index"})
    records = question_records(2, "val")
    kept = [
        {key: value for key, value in record.items() if key not in without}
        for record, without in zip(records, left_out, strict=True)
    ]
    write(data / VAL, "questions", kept)
    assert answers(data) == ["1", "yes", "2", "yes"]


def test_a_split_without_pictures_is_told_and_the_others_are_asked(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    write(data / "questions/CLEVR_train_questions.json", "questions", question_records(3, "train"))
    found = asked(data)
    assert len(found.pictures) == 2
    assert "1 file of questions" in found.notes[0] and "CLEVR_train_questions.json" in found.notes[0]


# Layouts.

LEFT_BY_SYSTEMS = (
    "images/.DS_Store",
    "images/val/.DS_Store",
    "images/val/._CLEVR_val_000000.png",
    "images/val/Thumbs.db",
    "images/.ipynb_checkpoints/CLEVR_val_000000-checkpoint.png",
    "images/__MACOSX/._a.png",
    "scenes/.DS_Store",
    "scenes/._CLEVR_val_scenes.json",
    "questions/._CLEVR_val_questions.json",
    "questions/desktop.ini",
    "._CLEVR_questions.json",
)


def test_what_systems_leave_in_folders_is_ignored(tmp_path: Path) -> None:
    """Planted bug: questions/*.json was read without looking for a leading dot, and ended the measurement."""
    data = official(tmp_path / "d")
    for name in LEFT_BY_SYSTEMS:
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_bytes(b"\0\5\x16\7")
    assert answers(data) == ["1", "yes", "2", "yes"]
    assert told(data) == {}
    assert len(read_official(data)) == 2


def lines(path: Path, records: list[dict[str, object]], end: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, records)) + end)


def changed(data: Path, records: list[dict[str, object]], *texts: str) -> None:
    """The file of scenes with other texts: each first one becomes the one after it."""
    text = json.dumps(records)
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        text = text.replace(old, new)
    write(data / "scenes/CLEVR_val_scenes.json", "scenes", json.loads(text))


LAYOUTS: dict[str, Callable[[Path, list[dict[str, object]]], object]] = {
    "a scene a file in a folder a split": lambda data, records: [
        lines(data / f"scenes/val/{i}.json", [record], "") for i, record in enumerate(records)
    ],
    "JSON Lines": lambda data, records: lines(data / "scenes/CLEVR_val_scenes.jsonl", records, "\n"),
    "JSON Lines beside": lambda data, records: lines(data / "scenes.jsonl", records, ""),
    "JSON Lines called JSON": lambda data, records: lines(data / "scenes/all.json", records, "\n\n"),
    "a bare list": lambda data, records: (data / "scenes/all.json").write_text(json.dumps(records)),
    "twice": lambda data, records: [
        write(data / f"scenes/{name}.json", "scenes", records) for name in ("CLEVR_val_scenes", "copy")
    ],
    "jpg in the records": lambda data, records: changed(data, records, ".png", ".jpg"),
    "a split in no record": lambda data, records: write(
        data / "CLEVR_scenes.json",
        "scenes",
        [{key: value for key, value in record.items() if key != "split"} for record in records],
    ),
    "the generator's split, filed under another": lambda data, records: write(
        data / "scenes/CLEVR_val_scenes.json", "scenes", [record | {"split": "new"} for record in records]
    ),
    "capitals": lambda data, records: changed(data, records, '"cube"', '"Cube"', '"red"', '"RED"'),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_scenes_are_found_wherever_they_lie(kind: str, tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    (data / "scenes/CLEVR_val_scenes.json").unlink()
    LAYOUTS[kind](data, scene_records(2, "val"))
    folder = ClevrFolder(data, (), CLEVR)
    assert [example.scene for example in folder] == [scene_with(1), scene_with(2)]
    assert folder.problems == ()
    assert [picture.name for picture in read_official(data)] == ["CLEVR_val_000000", "CLEVR_val_000001"]


@pytest.mark.parametrize("kind", ["JSON Lines", "JSON Lines called JSON", "a bare list"])
def test_the_same_files_can_be_rendered(kind: str, tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    LAYOUTS[kind](tmp_path, scene_records(2, "val"))
    (path,) = (tmp_path / "scenes").iterdir()
    assert read_any(path, everything()) == (
        ["CLEVR_val_000000", "CLEVR_val_000001"],
        [scene_with(1), scene_with(2)],
    )


def test_a_line_that_is_cut_off_is_no_scene_yet_and_a_cut_file_is_damaged(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    path = data / "scenes/CLEVR_val_scenes.json"
    text = "\n".join(map(json.dumps, scene_records(2, "val")))[:-30]
    path.write_text(text)
    assert "if it is truncated" in told(data)["scenes/CLEVR_val_scenes.json"]
    path.rename(path.with_suffix(".jsonl"))
    assert list(told(data)) == ["images/val/CLEVR_val_000001.png"]


def test_pictures_of_one_name_in_two_splits_are_not_mixed_up(tmp_path: Path) -> None:
    """000000.png in every split, as many data sets number them."""
    data = tmp_path / "d"
    for split, number in (("train", 1), ("val", 2)):
        (data / "images" / split).mkdir(parents=True)
        Image.fromarray(pixels_with(number)).save(data / f"images/{split}/0.png")
        write(data / f"scenes/{split}.json", "scenes", [to_clevr(scene_with(number), "0.png", 0, split)])
        record = question_records(number)[-2] | {"image_filename": "0.png", "split": split}
        write(data / f"questions/CLEVR_{split}_questions.json", "questions", [record])
    found = {picture.name: len(picture.scene.objects) for picture in read_official(data)}
    assert found == {"train/0": 2, "val/0": 3}
    assert [
        (picture.split, picture.questions[0].picture, picture.questions[0].answer)
        for picture in asked(data).pictures
    ] == [
        ("train", "train/0", "1"),
        ("val", "val/0", "2"),
    ]
    with pytest.raises(InputError, match=r"train/0.png or val/0.png; name it with its split"):
        read_official(data, "0")
    assert len(read_official(data, "val/0.png")[0].scene.objects) == 3


def test_a_scene_of_another_split_is_never_joined_by_its_name_alone(tmp_path: Path) -> None:
    """Planted bug: the only picture of that name was taken, and every truth was another scene's."""
    data = official(tmp_path / "d")
    records = [record | {"split": "train"} for record in scene_records(2, "val")]
    (data / "scenes/CLEVR_val_scenes.json").unlink()
    write(data / "scenes/all.json", "scenes", records)
    notes = told(data)
    assert "is not there, but images/val/CLEVR_val_000000.png is" in notes["scenes/all.json: scene 0"]
    assert all(example.scene is None for example in ClevrFolder(data, (), CLEVR))


def test_another_picture_s_damage_does_not_block_an_explanation(tmp_path: Path) -> None:
    """Planted bug: every picture was read and every camera fitted before one was explained."""
    data = official(tmp_path / "d")
    (data / "images/val/CLEVR_val_000001.png").write_bytes(b"")
    first, second = scene_records(2, "val")
    write(data / "scenes/CLEVR_val_scenes.json", "scenes", [second | {"objects": 3}, first])
    assert read_official(data, "CLEVR_val_000000")[0].scene.objects == scene_with(1).objects
    assert explained(data, "CLEVR_val_000000", "--out", tmp_path / "x").exit_code == 0


def test_pixel_coordinates_of_a_smaller_picture(tmp_path: Path) -> None:
    """The generator writes them for the size that it was told, --width 240 --height 160."""
    data = official(tmp_path / "d", 1)
    Image.new("RGB", (240, 160)).save(data / "images/val/CLEVR_val_000000.png")
    scene = scene_with(3)
    record = to_clevr(scene, "CLEVR_val_000000.png", 0, "val")
    places = np.array([center(item) for item in scene.objects])
    columns, rows, depths = project(places, (0.05, 0.1, -0.1), 240, 160)
    for item, *place in zip(record["objects"], columns, rows, depths, strict=True):  # type: ignore[call-overload]
        item["pixel_coords"] = [round(float(place[0])), round(float(place[1])), float(place[2])]
    write(data / "scenes/CLEVR_val_scenes.json", "scenes", [record])
    (picture,) = read_official(data)
    assert picture.fit.error_px <= 1.0
    assert np.allclose(picture.fit.offset, (0.05, 0.1, -0.1), atol=0.1)
    assert (WIDTH_PX, HEIGHT_PX) != (240, 160)


# What blocks.


def test_the_generator_s_default_size_is_refused_with_what_to_do(tmp_path: Path) -> None:
    data = generated(tmp_path / "output")
    for path in (data / "images").iterdir():
        Image.new("RGBA", (320, 240)).save(path)
    advice = ("CLEVR_new_000000.png", "320x240", "--width 480 --height 320")
    refused(verified(data), *advice)
    query = write_query(tmp_path)
    refused(trex("baseline", query, "--dataset", data, "--out", tmp_path / "out"), *advice)


def test_a_folder_too_high_or_too_deep_is_answered_with_the_right_one(tmp_path: Path) -> None:
    data = official(tmp_path / "above/CLEVR_v1.0")
    for given in (data.parent, data / "images"):
        refused(verified(given), "no images/", str(data))
    assert len(asked(data).pictures) == 2


def test_folders_without_png_say_what_they_hold(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    for path in (data / "images/val").iterdir():
        path.rename(path.with_suffix(".gif"))
    refused(verified(data), "2 of .gif", "val/CLEVR_val_00000")


def test_pictures_too_deep_are_told_from_none(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    (data / "images/val").rename(data / "images/moved")
    (data / "images/val").mkdir()
    (data / "images/moved").rename(data / "images/val/0")
    refused(verified(data), "holds no PNG or JPEG, but val/0 does, which is too deep")


def test_an_ending_in_capitals_is_the_same_ending(tmp_path: Path) -> None:
    data = official(tmp_path / "d")
    for file in (data / VAL, data / "scenes/CLEVR_val_scenes.json"):
        file.rename(file.with_suffix(".JSON"))
    assert len(answers(data)) == 4 and told(data) == {}


def test_splits_of_a_flat_folder_and_missing_questions(tmp_path: Path) -> None:
    data = generated(tmp_path / "output")
    refused(verified(data, "--split", "val"), "has no splits", "drop --split val")
    (data / "CLEVR_questions.json").unlink()
    refused(verified(data), "no file of questions", "questions/*.json")
    (data / "CLEVR_scenes.json").unlink()
    shutil.rmtree(data / "scenes")
    refused(explained(data, "CLEVR_new_000000"), "no file of scenes")


def test_no_link_leads_out_but_whole_folders_may_be_linked(tmp_path: Path) -> None:
    data, private = official(tmp_path / "d"), official(tmp_path / "private", 3)
    (data / "images/val/CLEVR_val_000002.png").symlink_to(private / "images/val/CLEVR_val_000002.png")
    (data / "images/train").symlink_to(private / "images/val")
    (data / "scenes/more.json").symlink_to(private / "scenes/CLEVR_val_scenes.json")
    folder = ClevrFolder(data, (), CLEVR)
    assert [example.name for example in folder] == ["val/CLEVR_val_000000.png", "val/CLEVR_val_000001.png"]
    assert "symbolic link" in dict(folder.problems)["scenes/more.json"]
    other = tmp_path / "other"
    other.mkdir()
    for name in ("images", "scenes", "questions"):
        (other / name).symlink_to(private / name)
    assert len(asked(other).pictures) == 3 and told(other) == {}


# Pictures.


def raw(kind: int, values: np.ndarray[tuple[int, ...], np.dtype[np.uint16]], extra: bytes = b"") -> bytes:
    """A PNG of 16 bits a channel: `values` (H, W, channels), `kind` the color type."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    height, width = values.shape[:2]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("kind", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)], ids=["L", "RGB", "LA", "RGBA"]
)
def test_sixteen_bits_are_scaled_and_told(kind: int, channels: int) -> None:
    """Pillow cuts gray of 16 bits off at 255 (python-pillow/Pillow, issues 2574, 3011, 5991)."""
    eight = np.random.default_rng(kind).integers(0, 256, (4, 6, channels)).astype(np.uint16)
    if channels in (2, 4):
        eight[..., -1] = 255
    picture = decode_picture(raw(kind, eight * np.uint16(257)), "it")
    colors = eight[..., :1].repeat(3, axis=2) if channels < 3 else eight[..., :3]
    assert np.array_equal(picture.pixels, colors)
    assert [loss.split(" a")[0] for loss in picture.losses] == ["16 bits"]
    if channels == 1:
        assert np.array_equal(decode_png(raw(kind, eight * np.uint16(257)), "it", mode="L"), eight[..., 0])


def encoded(image: Image.Image, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG", **options)
    return stream.getvalue()


RGB = Image.new("RGB", (120, 80), (1, 2, 3))
PALETTE = RGB.quantize(2)
HOLE = Image.new("RGBA", (120, 80), (1, 2, 3, 255))
HOLE.putpixel((0, 0), (9, 9, 9, 0))
LOSSY = {
    "a hole": (encoded(HOLE), "transparent"),
    "a color key": (encoded(RGB, transparency=(1, 2, 3)), "transparent"),
    "palette with alpha": (encoded(PALETTE, transparency=bytes([128] * 2)), "transparent"),
    "gray with alpha": (encoded(Image.new("LA", (120, 80), (3, 128))), "transparent"),
    "animated": (encoded(RGB, save_all=True, append_images=[Image.new("RGB", (120, 80))]), "frame"),
    "16 bits": (raw(0, np.full((80, 120, 1), 40_000, np.uint16)), "16 bits"),
}
KEPT = {
    "opaque alpha": encoded(Image.new("RGBA", (120, 80), (1, 2, 3, 255))),  # the pictures of CLEVR v1.0
    "unused key": encoded(RGB, transparency=(7, 7, 7)),
    "palette": encoded(PALETTE),
    "gray": encoded(Image.new("L", (120, 80))),
    "one bit": encoded(Image.new("1", (120, 80))),
}


@pytest.mark.parametrize("kind", LOSSY)
def test_what_a_picture_loses_is_said_once_with_the_first_file(kind: str, tmp_path: Path) -> None:
    data, (content, words) = official(tmp_path / "d", 3), LOSSY[kind]
    for number in (1, 2):
        (data / f"images/val/CLEVR_val_00000{number}.png").write_bytes(content)
    ((file, what),) = told(data).items()
    assert file == "images/val/CLEVR_val_000001.png"
    assert what.startswith("2 pictures have") and words in what
    (note,) = json.loads(verified(data, "--json").stdout)["notes"]
    assert words in note and note.endswith("the first: images/val/CLEVR_val_000001.png")
    assert words in explained(data, "CLEVR_val_000001", "--out", tmp_path / "out").stdout


@pytest.mark.parametrize("depth", [2, 4, 16])
@pytest.mark.parametrize("is_used", [True, False])
def test_a_color_key_counts_in_the_file_s_own_bits(depth: int, is_used: bool) -> None:
    """Pillow scales the pixels of 2 and 4 bits, and not the key; of 16 bits it keeps no key."""
    most = 2**depth - 1
    header = struct.pack(">IIBBBBB", 3, 2, depth, 0, 0, 0, 0)
    content = (b"\0" + b"\xff" * -(-3 * depth // 8)) * 2
    key = struct.pack(">H", most if is_used else most - 1)
    picture = raw(0, np.zeros((2, 3, 1), np.uint16))
    chunks = {b"IHDR": header, b"tRNS": key, b"IDAT": zlib.compress(content), b"IEND": b""}
    data = picture[:8] + b"".join(
        struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
        for name, part in chunks.items()
    )
    losses = decode_picture(data, "it").losses
    assert any("transparent" in loss for loss in losses) == (is_used or depth == 16)


def test_small_numbers_as_a_color_key_of_sixteen_bits_are_told() -> None:
    key = b"tRNS" + struct.pack(">HHH", 40, 40, 40)
    chunk = struct.pack(">I", 6) + key + struct.pack(">I", zlib.crc32(key))
    losses = decode_picture(raw(2, np.full((4, 6, 3), 40, np.uint16), chunk), "it").losses
    assert [loss.split(" ")[0] for loss in losses] == ["16", "transparent"]


def test_the_proof_of_a_repair_says_it_too(tmp_path: Path) -> None:
    data, tally = official(tmp_path / "d", 2), Tally()
    (data / "images/val/CLEVR_val_000001.png").write_bytes(LOSSY["a hole"][0])
    pictures = read_official(data, tally=tally)
    assert len(pictures) == 2
    row = compared(0, "before", "official", (np.ones(4, np.bool_), np.ones(4, np.bool_)), [0, 0, 1, 1])
    proof = OfficialProof(corrected="", dataset="d", pictures=2, rows=[row], notes=tally.sentences)
    assert proof.words.endswith("the first: images/val/CLEVR_val_000001.png.")


@pytest.mark.parametrize("kind", KEPT)
def test_pictures_that_lose_nothing_are_not_spoken_of(kind: str) -> None:
    assert decode_picture(KEPT[kind], "it").losses == ()


TURNED = Image.Exif()
TURNED[0x0112] = 3
UPRIGHT = Image.Exif()
UPRIGHT[0x0112] = 1


def test_a_turned_picture_is_refused_as_its_meaning_is_open(tmp_path: Path) -> None:
    data = official(tmp_path / "d", 2)
    path = data / "images/val/CLEVR_val_000001.png"
    path.write_bytes(encoded(RGB, exif=TURNED))
    said = told(data)["images/val/CLEVR_val_000001.png"]
    assert "EXIF orientation 3" in said and said.endswith("save it upright, without the tag")
    assert "not a readable PNG" not in said  # it is one
    (note,) = json.loads(verified(data, "--json").stdout)["notes"]
    assert "1 picture cannot be used and is left out; the first: " in note and "save it upright" in note
    path.write_bytes(encoded(RGB, exif=UPRIGHT))
    assert told(data) == {}


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        (b"\xff\xd8\xff\xe0", "a JPEG"),
        (b"GIF89a", "a GIF"),
        (b"II*\0", "a TIFF"),
        (b"version https://git-lfs.github.com/spec/v1", "git lfs pull"),
        (b"", "it is empty"),
    ],
)
def test_a_file_with_the_ending_of_a_png_is_called_what_it_is(begin: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        decode_picture(begin and begin + b"\0" * 60, "it.png")


def as_jpeg(place: Path, image: Image.Image, **options: object) -> None:
    image.save(place, "JPEG", **options)


def test_a_data_set_of_jpegs_is_read(tmp_path: Path) -> None:
    """Planted bug: its pictures were told, and not read."""
    data = official(tmp_path / "d", 2)
    before = asked(data).pictures
    for path in (data / "images/val").iterdir():
        with Image.open(path) as image:
            as_jpeg(path.with_suffix(".jpg"), image.convert("RGB"), quality=95)
        path.unlink()
    after = asked(data).pictures
    assert [(each.name, each.questions) for each in after] == [(each.name, each.questions) for each in before]
    assert told(data) == {} and verified(data, "--json").exit_code == 0
    assert explained(data, "CLEVR_val_000001", "--out", tmp_path / "out").exit_code == 0
    as_jpeg(data / "images/val/CLEVR_val_000001.png", RGB)
    assert told(data) == {"images/val/CLEVR_val_000001.jpg": LEFT_OUT}, "the ending does not decide"


LEFT_OUT = (
    "1 picture is left out: only PNGs and JPEGs in images/ and images/SPLIT/ are read, one of each name; "
    "convert or move them"
)
BAD_JPEGS = {
    "turned": (lambda path: as_jpeg(path, RGB, exif=TURNED), "EXIF orientation 3"),
    "in print colors": (lambda path: as_jpeg(path, RGB.convert("CMYK")), "in CMYK colors; save it in RGB"),
    "cut": (lambda path: (as_jpeg(path, RGB), path.write_bytes(path.read_bytes()[:-60])), "get it again"),
    "only a head": (lambda path: path.write_bytes(b"\xff\xd8\xff\xe0"), "JPEG: it is damaged; get it again"),
    "too large": (lambda path: as_jpeg(path, Image.new("L", (5250, 3500))), "more than the limit"),
    "a bomb": (lambda path: path.write_bytes(widened(path)), "exceeds limit"),
    "endless": (
        lambda path: (as_jpeg(path, RGB), path.write_bytes(path.read_bytes() + SCAN * 100)),
        "of more than 100 scans; save it anew",
    ),
}


def widened(path: Path) -> bytes:
    """A small JPEG whose head claims 60,000 by 40,000 pixels."""
    as_jpeg(path, RGB)
    return path.read_bytes().replace(struct.pack(">HH", 80, 120), struct.pack(">HH", 40_000, 60_000), 1)


@pytest.mark.parametrize("kind", BAD_JPEGS)
def test_a_jpeg_that_cannot_be_used_is_told(kind: str, tmp_path: Path) -> None:
    data, (spoil, words) = official(tmp_path / "d", 2), BAD_JPEGS[kind]
    path = data / "images/val/CLEVR_val_000001.jpg"
    path.with_suffix(".png").unlink()
    spoil(path)
    assert words in told(data)["images/val/CLEVR_val_000001.jpg"]


def test_a_jpeg_with_any_damage_is_a_picture_or_an_error_of_the_user_s(tmp_path: Path) -> None:
    path, rng = tmp_path / "p.jpg", np.random.default_rng(0)
    as_jpeg(path, RGB, exif=UPRIGHT, progressive=True)
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        for place in rng.integers(2, len(whole), 3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(InputError):
            assert read_picture(path, tmp_path).pixels.dtype == np.uint8
