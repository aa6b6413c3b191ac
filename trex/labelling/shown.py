"""What annotators are shown: pictures as PNG files and what they are asked; here, those of a repair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from trex.foundation.errors import RunError
from trex.foundation.files import read_bytes
from trex.labelling.survey import Survey, class_choices
from trex.repair.folder import DONE, RepairFolder
from trex.repair.records import Done, file_sha256, read_fields, read_record

DISTILLED = "distill.json"  # of the step before, which names the classes
PNG = ".png"
EXAMPLES = "examples"  # the folder of a picture of each class, named by its number
SERVE = "trex repair label --serve"


@dataclass(frozen=True, eq=False)
class Shown:
    """The pictures' PNG files by name, the survey, the digest of the pictures, and the key of all orders.

    The key is no seed: who knows the seed could repeat the draw and learn which pictures are checks. `captions` has
    what stands beside a picture, if anything does; `examples` the PNG file of an example of a label, if there is one.
    """

    pictures: Mapping[str, bytes]
    survey: Survey
    digest: str
    key: str
    captions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, bytes] = field(default_factory=dict)


def read_shown(folder: RepairFolder) -> Shown:
    """What a repair shows; RunError if its pictures are not drawn yet, or were changed."""
    place = folder.require("pictures")
    files = {
        name.removesuffix(PNG): read_bytes(place / name, error=RunError, follow_links=False)
        for name in sorted(read_record(Done, place / DONE).files)
        if name.endswith(PNG)
    }
    pictures = {name: png for name, png in files.items() if "/" not in name}
    classes = _classes(folder)
    named = {name: f"{EXAMPLES}/{number:03}" for number, name in enumerate(classes)}
    digest = file_sha256(place / DONE)
    key = sha256(f"order {folder.query.seed} {digest}".encode()).hexdigest()
    survey = Survey(
        question="What does the picture show?",
        task="say what it shows",
        subject="this repair",
        choices=class_choices(classes),
        command=SERVE,
        serve=f"trex repair label {folder.path} --serve",
        count=f"trex repair label {folder.path} --voters people",
    )
    examples = {name: files[place] for name, place in named.items() if place in files}
    return Shown(pictures, survey, digest, key, examples=examples)


def _classes(folder: RepairFolder) -> tuple[str, ...]:
    """The classes that the step before has recorded; read as plain fields, since its module loads torch."""
    path = folder.require("distill") / DISTILLED
    classes = (read_fields(path) or {}).get("classes")
    if not isinstance(classes, list):
        raise RunError(
            f"{path} names no classes; delete {path.parent} and run: trex repair distill {folder.path}"
        )
    return tuple(map(str, classes))
