"""A data set in CLEVR v1.0's own layout, with masks, readable by CLEVR tools and by our own readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trex.export.export_format import ExportFormat
from trex.export.items import Exported, answer_json
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json
from trex.scenes.clevr_format.json_files import write_items
from trex.scenes.clevr_format.scene_json import SceneRecord, write_scenes
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.questions.programs import Program

NO_FAMILY = -1  # question_family_index: the query's question may belong to none of CLEVR's families


@dataclass(frozen=True)
class LaidOut:
    """A picture in CLEVR's layout: the scene with its file, the question about it, and the PNGs of picture and mask.

    `truth` is None if the question has no answer; `picture` is read when it is written.
    """

    record: SceneRecord
    question: str
    program: Program
    truth: str | None
    picture: Callable[[], tuple[bytes, bytes]]


def write_clevr(out: Path, exported: Exported) -> None:
    """Write images/, masks/, scenes/ and questions/ by split, and the model's answers as model_answers.json."""
    question = exported.manifest.question
    for split in exported.splits:
        write_split(
            out,
            split,
            [
                LaidOut(
                    SceneRecord(item.scene, item.name, item.index, split),
                    question.text,
                    question.program,
                    item.truth,
                    partial(exported.picture, item),
                )
                for item in exported.of(split)
            ],
            "trex export",
        )
    write_answers(out, [answer_json(exported.manifest, item) for item in exported.items])


def write_split(out: Path, split: str, items: Sequence[LaidOut], made_by: str) -> None:
    """Write images/, masks/, scenes/ and questions/ of one split."""
    for item in items:
        for kind, data in zip(("images", "masks"), item.picture(), strict=True):
            path = out / kind / split / item.record.image_filename
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data, is_precious=False)
    info = {"split": split, "version": "1.0", "made_by": made_by}
    write_scenes(out / "scenes" / f"CLEVR_{split}_scenes.json", (item.record for item in items), info)
    write_items(out / "questions" / f"CLEVR_{split}_questions.json", "questions", _questions(items), info)


def write_answers(out: Path, answers: Sequence[Json]) -> None:
    write_atomic(out / "model_answers.json", (json.dumps(answers, indent=1) + "\n").encode())


def _questions(items: Sequence[LaidOut]) -> Iterator[Json]:
    """The question about each scene on which it has an answer, in CLEVR's format."""
    for number, item in enumerate(laid_out for laid_out in items if laid_out.truth is not None):
        yield {
            "image_index": item.record.image_index,
            "image_filename": item.record.image_filename,
            "split": item.record.split,
            "question_family_index": NO_FAMILY,
            "question_index": number,
            "question": item.question,
            "program": program_to_json(item.program),
            "answer": item.truth,
        }


FORMAT = ExportFormat("clevr", write_clevr)
