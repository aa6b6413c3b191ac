"""What the public generator writes, in small: pictures whose red things the fake model counts rightly."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from tests.worlds.baseline_worlds import pixels_with, scene_with
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.questions.english import parse
from trex.scenes.questions.program_json import program_to_json

Record = dict[str, object]
COUNT, EXIST = "How many red things are there?", "Are any red things visible?"


def scene_records(n: int = 2, split: str = "new") -> list[Record]:
    """Scenes with 1, 2, ... red things."""
    return [to_clevr(scene_with(i + 1), f"CLEVR_{split}_{i:06d}.png", i, split) for i in range(n)]


def question_records(n: int = 2, split: str = "new") -> list[Record]:
    """Two questions about each, with answers as the generator writes them: a number, and true."""
    return [
        {
            "split": split,
            "image_filename": f"CLEVR_{split}_{i:06d}.png",
            "image_index": i,
            "image": f"CLEVR_{split}_{i:06d}",
            "question": text,
            "program": _program(text),
            "answer": answer,
        }
        for i in range(n)
        for text, answer in ((COUNT, i + 1), (EXIST, True))
    ]


def _program(text: str) -> list[Record]:
    """A program in the generator's spelling, "type" for "function"."""
    return [
        {"type": step["function"], **{key: value for key, value in step.items() if key != "function"}}
        for step in program_to_json(parse(text))
    ]


def pictures(folder: Path, n: int = 2, split: str = "new") -> None:
    """The pictures, straight in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        Image.fromarray(pixels_with(i + 1.0)).save(folder / f"CLEVR_{split}_{i:06d}.png")


def generated(place: Path, n: int = 2) -> Path:
    """The generator's folder `output` as it lies."""
    pictures(place / "images", n)
    (place / "scenes").mkdir()
    for record in scene_records(n):
        name = str(record["image_filename"]).replace(".png", ".json")
        (place / "scenes" / name).write_text(json.dumps(record))
    write(place / "CLEVR_scenes.json", "scenes", scene_records(n))
    write(place / "CLEVR_questions.json", "questions", question_records(n))
    return place


def official(place: Path, n: int = 2, split: str = "val") -> Path:
    """The same in the layout of CLEVR v1.0."""
    pictures(place / "images" / split, n, split)
    write(place / f"scenes/CLEVR_{split}_scenes.json", "scenes", scene_records(n, split))
    write(place / f"questions/CLEVR_{split}_questions.json", "questions", question_records(n, split))
    return place


def write(path: Path, key: str, records: list[Record], encoding: str = "utf-8") -> Path:
    """A file of scenes or questions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"info": {"version": "1.0"}, key: records}), encoding=encoding)
    return path
