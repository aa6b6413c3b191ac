"""The confirmed failures of an audit as a batch of a suite, each scene with its own question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trex.auditing.reporting.failures import KnownFailure, known_failure, read_failures
from trex.export.clevr import LaidOut, write_answers, write_split
from trex.export.export import write_whole
from trex.foundation.errors import InputError
from trex.foundation.json_fields import Json
from trex.foundation.printable import escaped
from trex.runs.picture_files import to_png
from trex.scenes.clevr_format.scene_json import SceneRecord
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.scene import scene_id
from trex.suite.batch import BatchFile, BatchScene
from trex.suite.sealing import NEW, Added, file_hashes, known_scenes, seal, sha256

SPLIT = "found"
Kept = tuple[tuple[KnownFailure, bytes], ...]  # each with the PNG of its picture


@dataclass(frozen=True)
class AuditSelection:
    """An audit with its failures, each once however many families it belongs to; `look` is where they stayed."""

    folder: Path
    model: str
    look: str
    failures: Kept


def select_audit(folder: Path) -> AuditSelection:
    """The failures of a finished audit; InputError if no family was confirmed."""
    found = read_failures(folder)
    failures = [known_failure(folder, one) for one in found.failures]
    if not failures:
        raise InputError(f"{folder} has no confirmed family; a suite keeps failures, so leave this audit out")
    different = {(one.scene, one.program): one for one in failures}
    return AuditSelection(
        folder, found.model, found.look, tuple((one, to_png(one.pixels)) for one in different.values())
    )


def add_failures(selection: AuditSelection, suite: Path) -> Added:
    """Write a batch of the failures that no batch of the suite has."""
    known = known_scenes(suite)
    new = tuple((one, png) for one, png in selection.failures if (sha256(png), one.program) not in known)
    place = write_whole(suite / NEW, partial(_fill, selection=selection, new=new)) if new else None
    return Added(selection.folder, len(new), len(selection.failures) - len(new), 0, place)


def _fill(scratch: Path, selection: AuditSelection, new: Kept) -> str:
    """Write the batch; return its name."""
    names = [f"CLEVR_{SPLIT}_{index:06d}.png" for index in range(len(new))]
    rows = list(zip(names, new, strict=True))
    scenes = [scene_id(one.scene) for one, _ in new]
    groups = [scenes.index(scene) for scene in scenes]  # questions about one scene are related
    write_split(
        scratch,
        SPLIT,
        [
            LaidOut(
                SceneRecord(one.scene, name, index, SPLIT),
                one.question,
                one.program,
                one.truth,
                partial(_picture, one, png),
            )
            for index, (name, (one, png)) in enumerate(rows)
        ],
        "trex audit",
    )
    write_answers(scratch, [_answer(selection.model, name, one) for name, (one, _) in rows])
    content = BatchFile(
        run=escaped(selection.folder.resolve().name),
        model=selection.model,
        scenes=tuple(
            _scene(selection.look, name, one, group)
            for (name, (one, _)), group in zip(rows, groups, strict=True)
        ),
        files=file_hashes(scratch),
    )
    return seal(scratch, content)


def _picture(one: KnownFailure, png: bytes) -> tuple[bytes, bytes]:
    return png, to_png(one.mask)


def _scene(look: str, name: str, one: KnownFailure, group: int) -> BatchScene:
    program = tuple(program_to_json(one.program))
    return BatchScene(name, one.truth, one.said, one.confidence, (look,), one.question, program, group)


def _answer(model: str, name: str, one: KnownFailure) -> Json:
    return {
        "split": SPLIT,
        "image_filename": name,
        "model": model,
        "question": one.question,
        "true_answer": one.truth,
        "model_answer": one.said,
        "confidence": one.confidence,
    }
