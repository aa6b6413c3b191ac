"""Official pictures with their scenes and answered questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.datasets.clevr_files import LAYOUT, SCENES, ClevrEntry, ClevrFiles, open_files, read_pixels
from trex.datasets.examples import Tally
from trex.foundation.errors import InputError
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX
from trex.scenes.clevr_format.camera_fit import CameraFit, from_clevr_fitted
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


def read_official(data: Path, image: str = "", tally: Tally | None = None) -> list[OfficialPicture]:
    """The pictures of a folder in CLEVR's layout that have a scene, or the one called `image`.

    What the pixels lack of the files goes to `tally`. InputError if there is no such picture, or a scene that is needed
    is damaged.
    """
    files = open_files(data)
    wanted = [_only(files, image)] if image else files.pictures
    faults: list[str] = []
    found: dict[str, OfficialPicture] = {}
    for entry in files.entries(SCENES, lambda *fault: faults.append(": ".join(fault)), lambda *_: None):
        if entry.picture in wanted and entry.picture not in found:
            found[entry.picture] = _read_picture(files, entry, tally)
            if image:
                break
    if faults and not (image and found):
        raise InputError(faults[0])
    if not found:
        raise InputError(f"{data} holds no {image or 'picture'} with a scene: {_scenes_there(files)}")
    return list(found.values())


def _read_picture(files: ClevrFiles, entry: ClevrEntry, tally: Tally | None) -> OfficialPicture:
    pixels = read_pixels(files.images / entry.picture, files.images, tally)
    try:
        scene, fit = from_clevr_fitted(entry.record, where=entry.where)
    except InputError:
        size = (pixels.shape[1], pixels.shape[0])
        if size == (WIDTH_PX, HEIGHT_PX):
            raise
        scene, fit = from_clevr_fitted(entry.record, where=entry.where, size=size)
    return OfficialPicture(files.label(entry.picture), pixels, scene, fit)


def _only(files: ClevrFiles, image: str) -> str:
    """The picture that a user names; InputError unless it is exactly one."""
    names = files.named(image)
    if not names:
        few = ", ".join(map(files.label, files.pictures[:5]))
        raise InputError(
            f"{files.folder} has no picture {image!r}; it has {len(files.pictures)}, such as {few}"
        )
    if len(names) > 1:
        raise InputError(f"{image!r} may be {' or '.join(names)}; name it with its split")
    return names[0]


def _scenes_there(files: ClevrFiles) -> str:
    """Which files of scenes there are, or that there are none."""
    there = [file.where for file in files.files(SCENES)]
    few = ", ".join(there[:3]) + (f" and {len(there) - 3} more" if len(there) > 3 else "")
    return f"{few} have none of it" if there else f"there is no file of scenes; {LAYOUT}"


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
                text = phrase(program)
                found[name, text] = AskedQuestion(
                    name, family.kind if by_kind else "phrased", text, program, answer
                )
    return list(found.values())
