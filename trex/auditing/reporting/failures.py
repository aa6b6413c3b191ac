"""`failures.json` of an audit: its confirmed failures, each with all that it takes to ask about it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StringConstraints

from trex.auditing.audit import Audit
from trex.auditing.judging.confirm import deciding_scene
from trex.auditing.judging.findings import Finding
from trex.auditing.sweeping.records import REMEDY, Tested
from trex.auditing.work import MANIFEST, PICTURES
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError, TrexError
from trex.foundation.files import read_bytes, write_atomic
from trex.render.cache import MAX_RAW, decode, entry_name, entry_path
from trex.scenes.questions.program_json import program_from_json, program_to_json
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene, scene_from_dict, scene_id, scene_to_dict

FAILURES = "failures.json"


@dataclass(frozen=True)
class Failure:
    """A failure that stayed at the deciding look: the scene there, its question, and the name of its picture's file."""

    family: str
    scene: dict[str, object]
    question: str
    program: tuple[dict[str, object], ...]
    truth: str
    said: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    picture: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Failures:
    """All confirmed failures of a model at the deciding look."""

    model: str
    look: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class KnownFailure:
    """A failure that was read back: pixels (H, W, 3) and mask (H, W, object i as i + 1), both uint8."""

    scene: Scene
    question: str
    program: Program
    truth: str
    said: str
    confidence: float
    pixels: NDArray[np.uint8]
    mask: NDArray[np.uint8]


CODEC = Codec(Failures)


def write_failures(done: Audit, renderer_key: str) -> None:
    """Write the failures of the confirmed families, whose pictures a renderer with this key has made."""
    rows = tuple(_failure(one, row, done, renderer_key) for one in done.confirmed for row in one.stayed)
    content = Failures(done.settings.model, done.settings.deciding, rows)
    write_atomic(done.folder / FAILURES, CODEC.text(content).encode())


def is_audit(folder: Path) -> bool:
    """Whether a folder holds an audit, finished or not."""
    return (folder / MANIFEST).is_file()


def read_failures(folder: Path) -> Failures:
    """The failures of a finished audit; RunError if there is none, or if the file is damaged."""
    found = CODEC.read(folder / FAILURES, REMEDY, inside=folder)
    if found is None:
        raise RunError(f"{folder} holds no finished audit; give its command again")
    return found


def known_failure(folder: Path, one: Failure) -> KnownFailure:
    """A failure with its picture from the audit's folder; RunError if the picture is missing or damaged.

    InputError if the question has a word that is not CLEVR's.
    """
    path = entry_path(folder / PICTURES, one.picture)
    where = folder / FAILURES
    try:
        scene = scene_from_dict(one.scene)
        picture = decode(read_bytes(path, limit=MAX_RAW, inside=folder), one.picture, scene_id(scene))
    except (ValueError, TrexError) as error:
        raise RunError(f"{path}: the picture of a failure is not usable ({error}); {REMEDY}") from error
    try:
        program = program_from_json(list(one.program))
    except InputError as error:
        raise InputError(f"{where}: {error}; a suite keeps questions in CLEVR's words alone") from error
    return KnownFailure(
        scene, one.question, program, one.truth, one.said, one.confidence, picture.pixels, picture.mask
    )


def _failure(one: Finding, row: Tested, done: Audit, renderer_key: str) -> Failure:
    swept = done.scenes[row.scene].scene
    scene = deciding_scene(swept)
    asked = done.asker.questions(swept, row.scene)
    program = next(each.program for each in asked if done.asker.words(each) == row.question)
    return Failure(
        family=one.words,
        scene=scene_to_dict(scene),
        question=row.question,
        program=tuple(program_to_json(program)),
        truth=row.truth,
        said=row.said,
        confidence=row.confidence,
        picture=entry_name(renderer_key, scene_id(scene)),
    )
