"""Misread objects in scenes, and their file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.repair.records import Record, read_record, write_record
from trex.repair.scenes.found import FIRST, StoredScene, scene_fields
from trex.scenes.scene import Scene


class Misread(StoredScene):
    """An object that the model misread: its scene, its number there, and what it was taken for.

    `member` is the prior scene that this one is or was grown from, or the chain of a run that found that scene.
    """

    index: int
    seen: str
    member: int
    is_grown: bool

    @property
    def is_ordinary(self) -> bool:
        """Whether it is in a prior scene as that was drawn."""
        return not self.is_grown and self.member < FIRST


class Misreads(Record):
    """A file's worth of them."""

    rows: list[Misread]


def misread(scene: Scene, index: int, seen: str, member: int, *, is_grown: bool) -> Misread:
    """The record of a misread object."""
    return Misread(scene=scene_fields(scene), index=index, seen=seen, member=member, is_grown=is_grown)


def write_misreads(path: Path, rows: Sequence[Misread]) -> None:
    """Write misread objects to a file, atomically."""
    write_record(path, Misreads(rows=list(rows)))


def read_misreads(path: Path) -> list[Misread]:
    """The misread objects in a file; RunError if it is damaged."""
    return read_record(Misreads, path).rows
