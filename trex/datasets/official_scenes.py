"""Official pictures with their scenes and answered questions, for the parity check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.foundation.images import read_png
from trex.foundation.json_fields import field, mapping, text
from trex.scenes.clevr_format.camera_fit import CameraFit, from_clevr_fitted
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.questions.english import phrase
from trex.scenes.questions.families import FAMILIES, random_question
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program, execute
from trex.scenes.scene import Scene

PHRASED_KINDS = ("zero_hop", "one_hop")
PHRASED_TRIES = 2  # per family and scene
SEED = 28


@dataclass(frozen=True)
class OfficialPicture:
    """A published picture, its scene (camera recovered, lights unknown), and the quality of the camera fit."""

    name: str
    pixels: NDArray[np.uint8]  # (H, W, 3)
    scene: Scene
    fit: CameraFit


@dataclass(frozen=True)
class AskedQuestion:
    """A question on a picture with its true answer; `source` names the question's origin."""

    picture: str
    source: str
    text: str
    program: Program
    answer: str


def read_official(data: Path) -> list[OfficialPicture]:
    """The pictures of a folder in CLEVR's layout that have a scene; InputError if there is none."""
    found = []
    for path in sorted((data / "scenes").glob("*.json")):
        for index, item in enumerate(read_items(path, "scenes")):
            where = f"{path.name}: scene {index}"
            record = mapping(item, where)
            name = text(field(record, "image_filename", where), f"{where}, image_filename")
            image = data / "images" / text(field(record, "split", where), f"{where}, split") / name
            if image.is_file():
                scene, fit = from_clevr_fitted(record, where=where)
                found.append(OfficialPicture(Path(name).stem, read_png(image), scene, fit))
    if not found:
        raise InputError(
            f"{data} holds no picture with a scene; it needs scenes/*.json and images/SPLIT/*.png"
        )
    return found


def read_questions(data: Path, pictures: Sequence[OfficialPicture]) -> list[AskedQuestion]:
    """The published questions on these pictures, and phrased ones of every zero-hop and one-hop family."""
    by_name = {picture.name: picture for picture in pictures}
    questions = [
        question for path in sorted((data / "questions").glob("*.json")) for question in _published(path)
    ]
    named = [(picture.name, picture.scene) for picture in pictures]
    return [q for q in questions if q.picture in by_name] + phrase_questions(named, PHRASED_TRIES)


def _published(path: Path) -> list[AskedQuestion]:
    source = "CLOSURE" if "CLOSURE" in path.stem else "CLEVR"
    found = []
    for index, item in enumerate(read_items(path, "questions")):
        where = f"{path.name}: question {index}"
        record = mapping(item, where)
        name, asked, answer = (
            text(field(record, key, where), f"{where}, {key}")
            for key in ("image_filename", "question", "answer")
        )
        found.append(
            AskedQuestion(Path(name).stem, source, asked, program_from_json(record["program"]), answer)
        )
    return found


def phrase_questions(
    scenes: Iterable[tuple[str, Scene]], tries: int, *, by_kind: bool = False
) -> list[AskedQuestion]:
    """Questions of every zero-hop and one-hop family about named scenes, `tries` of each family on each scene.

    Their source is "phrased", or the kind of family.
    """
    rng = np.random.default_rng(SEED)
    found: dict[tuple[str, str], AskedQuestion] = {}
    families = [family for family in FAMILIES if family.kind in PHRASED_KINDS]
    for name, scene in scenes:
        for family in families * tries:
            drawn = random_question(rng, scene, family)
            if drawn is not None:
                program, answer = drawn
                asked = phrase(program)
                found[name, asked] = AskedQuestion(
                    name, family.kind if by_kind else "phrased", asked, program, answer
                )
    return list(found.values())


def wrong_truths(
    questions: Sequence[AskedQuestion], pictures: Sequence[OfficialPicture]
) -> list[AskedQuestion]:
    """The questions whose recorded answer differs from their program's answer on the scene."""
    scenes = {picture.name: picture.scene for picture in pictures}
    return [q for q in questions if execute(q.program, scenes[q.picture]) != q.answer]
