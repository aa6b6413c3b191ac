"""A data set in CLEVR v1.0's own layout, with masks, readable by CLEVR tools and by our own readers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from trex.export.export_format import ExportFormat
from trex.export.items import Exported, ExportItem, answer_json
from trex.foundation.files import write_atomic
from trex.foundation.json_fields import Json
from trex.runs.manifest import Manifest
from trex.scenes.clevr_format.json_files import write_items
from trex.scenes.clevr_format.scene_json import SceneRecord, write_scenes
from trex.scenes.questions.program_json import program_to_json

NO_FAMILY = -1  # question_family_index: the query's question may belong to none of CLEVR's families


def write_clevr(out: Path, exported: Exported) -> None:
    """Write images/, masks/, scenes/ and questions/ by split, and the model's answers as model_answers.json."""
    for split in exported.splits:
        items = exported.of(split)
        _write_pictures(out, exported, items)
        info = {"split": split, "version": "1.0", "made_by": "trex export"}
        records = (SceneRecord(item.scene, item.name, item.index, split) for item in items)
        write_scenes(out / "scenes" / f"CLEVR_{split}_scenes.json", records, info)
        questions = out / "questions" / f"CLEVR_{split}_questions.json"
        write_items(questions, "questions", _questions(exported.manifest, items), info)
    answers = [answer_json(exported.manifest, item) for item in exported.items]
    write_atomic(out / "model_answers.json", (json.dumps(answers, indent=1) + "\n").encode())


def _write_pictures(out: Path, exported: Exported, items: Sequence[ExportItem]) -> None:
    for item in items:
        for kind, data in zip(("images", "masks"), exported.picture(item), strict=True):
            path = out / kind / item.split / item.name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data, is_precious=False)


def _questions(manifest: Manifest, items: Sequence[ExportItem]) -> Iterator[Json]:
    """The run's question for each scene on which it has an answer, in CLEVR's format."""
    answered = [item for item in items if item.truth is not None]
    for number, item in enumerate(answered):
        yield {
            "image_index": item.index,
            "image_filename": item.name,
            "split": item.split,
            "question_family_index": NO_FAMILY,
            "question_index": number,
            "question": manifest.question.text,
            "program": program_to_json(manifest.question.program),
            "answer": item.truth,
        }


FORMAT = ExportFormat("clevr", write_clevr)
