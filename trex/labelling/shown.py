"""What annotators are shown of a repair: its pictures as PNG files, and the names of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from trex.foundation.errors import RunError
from trex.foundation.files import read_bytes
from trex.repair.folder import DONE, RepairFolder
from trex.repair.records import Done, file_sha256, read_fields, read_record

DISTILLED = "distill.json"  # of the step before, which names the classes
PNG = ".png"
KEYS = "0123456789abcdefghijklmopqrstvwxyz"  # of the classes; n is "none", u is undo


@dataclass(frozen=True, eq=False)
class Shown:
    """The pictures' PNG files by name, the classes, the digest of the drawn pictures, and the key of all orders.

    The key is no seed: who knows the seed could repeat the draw and learn which pictures are checks.
    """

    pictures: Mapping[str, bytes]
    classes: tuple[str, ...]
    digest: str
    key: str

    @property
    def buttons(self) -> tuple[tuple[str, str], ...]:
        """Each class with its key; "" for classes beyond the last key."""
        keys = [*KEYS, *[""] * len(self.classes)]
        return tuple(zip(self.classes, keys, strict=False))


def read_shown(folder: RepairFolder) -> Shown:
    """What a repair shows; RunError if its pictures are not drawn yet, or were changed."""
    place = folder.require("pictures")
    names = sorted(name for name in read_record(Done, place / DONE).files if name.endswith(PNG))
    pictures = {
        name.removesuffix(PNG): read_bytes(place / name, error=RunError, follow_links=False) for name in names
    }
    digest = file_sha256(place / DONE)
    key = sha256(f"order {folder.query.seed} {digest}".encode()).hexdigest()
    return Shown(pictures, _classes(folder), digest, key)


def _classes(folder: RepairFolder) -> tuple[str, ...]:
    """The classes that the step before has recorded; read as plain fields, since its module loads torch."""
    path = folder.require("distill") / DISTILLED
    classes = (read_fields(path) or {}).get("classes")
    if not isinstance(classes, list):
        raise RunError(
            f"{path} names no classes; delete {path.parent} and run: trex repair distill {folder.path}"
        )
    return tuple(map(str, classes))
