"""Official pictures with their scenes and answered questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.datasets.clevr_folder import image_of
from trex.foundation.errors import InputError
from trex.foundation.images import read_png
from trex.foundation.json_fields import mapping
from trex.scenes.clevr_format.camera_fit import CameraFit, from_clevr_fitted
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.questions.english import phrase
from trex.scenes.questions.families import FAMILIES, random_question
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene

PHRASED_KINDS = ("zero_hop", "one_hop")
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
            image = data.joinpath("images", *image_of(record, "", where))
            if image.is_file():
                scene, fit = from_clevr_fitted(record, where=where)
                found.append(OfficialPicture(image.stem, read_png(image), scene, fit))
    if not found:
        raise InputError(
            f"{data} holds no picture with a scene; it needs scenes/*.json and images/SPLIT/*.png"
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
