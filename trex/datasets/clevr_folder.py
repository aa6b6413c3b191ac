"""The pictures of a folder in CLEVR's layout, with their scenes if there are some; reports damage file by file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.datasets.clevr_files import IMAGES, SCENES, ClevrEntry, open_files, readable_pixels, split_of
from trex.datasets.examples import Example, Problem, Tally
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.scenes.clevr_format.camera_fit import coordinates
from trex.scenes.clevr_format.scene_json import NUISANCES, from_clevr
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary


class ClevrFolder:
    """Yields each picture once, whatever scenes name it.

    Raises InputError if the folder has no picture, or lacks a requested split.
    """

    def __init__(self, folder: Path, splits: tuple[str, ...], vocabulary: Vocabulary) -> None:
        self._files, self._vocabulary = open_files(folder, tuple(splits)), vocabulary
        self._problems: list[Problem] = []
        self._tally = Tally()
        self._scenes: dict[str, Scene] = {}
        self._coordinates: dict[
            str, NDArray[np.float64]
        ] = {}  # of scenes whose record says nothing of the camera
        self._damaged: set[str] = set()
        for entry in self._files.entries(SCENES, self._add_problem, self._add_problem):
            self._take(entry)
        self._tell_unread()
        self._tell_missing_scenes()

    @property
    def words(self) -> str:
        """The folder's name and the number of pictures in each split."""
        counts = Counter(split_of(name) or IMAGES for name in self._files.pictures)
        name = self._files.folder.resolve().name
        return f"{name}: " + ", ".join(f"{n} of {split}" for split, n in sorted(counts.items()))

    @property
    def total(self) -> int:
        """All pictures, damaged ones included."""
        return len(self._files.pictures)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The files left out so far, and what was lost of others."""
        return (*self._problems, *self._tally.problems)

    def __iter__(self) -> Iterator[Example]:
        self._tally, images = Tally(), self._files.images
        for name in self._files.pictures:
            pixels = readable_pixels(images / name, images, self._tally, self._add_problem)
            if pixels is None:
                continue
            yield Example(
                name,
                split_of(name),
                pixels,
                self._scenes.get(name),
                coordinates=self._coordinates.get(name),
            )

    def _add_problem(self, file: str, what: str) -> None:
        problem = Problem(file, what)
        if problem not in self._problems[-1:]:
            self._problems.append(problem)

    def _take(self, entry: ClevrEntry) -> None:
        """Store a scene under the name of its picture, or record why not."""
        name = entry.picture
        if not name:
            self._add_problem(entry.where, self._files.missing(entry))
            return
        try:
            scene = from_clevr(entry.record, self._vocabulary, entry.where)
        except InputError as error:
            if name not in self._scenes:
                self._damaged.add(name)
            self._add_problem(entry.where, f"{error}; {IMAGES}/{name} is looked at without a true answer")
            return
        if name not in self._scenes and not _has_camera(entry.record):
            self._coordinates[name] = _coordinates(entry)
        if self._scenes.setdefault(name, scene) != scene:  # the generator writes each scene twice
            self._add_problem(entry.where, f"a second scene for {IMAGES}/{name}; the first is used")

    def _tell_unread(self) -> None:
        """Record one problem for all pictures that are not read."""
        if unread := self._files.unread:
            self._add_problem(
                f"{IMAGES}/{unread[0]}",
                f"{counted(len(unread), 'picture is', 'pictures are')} left out: only PNGs and JPEGs "
                f"in {IMAGES}/ and {IMAGES}/SPLIT/ are read, one of each name; convert or move them",
            )

    def _tell_missing_scenes(self) -> None:
        """Record one problem for a split without any scenes, else one for each picture."""
        texts = self._scenes.keys() | self._damaged
        bare = [name for name in self._files.pictures if name not in texts]
        with_scenes = {split_of(name) for name in texts}
        whole = Counter(split_of(name) for name in bare if split_of(name) not in with_scenes)
        for split, number in sorted(whole.items()):
            place = f"{IMAGES}/{split}".rstrip("/")
            are = counted(number, "picture is", "pictures are")
            self._add_problem(place, f"no scenes: its {are} looked at without a true answer")
        for name in bare:
            if split_of(name) in with_scenes:
                self._add_problem(f"{IMAGES}/{name}", "no scene: looked at without a true answer")


def _has_camera(record: object) -> bool:
    return isinstance(record, Mapping) and NUISANCES in record


def _coordinates(entry: ClevrEntry) -> NDArray[np.float64]:
    """Where a record says that its objects are and are seen (2, N, 3); none (2, 0, 3) if it does not."""
    try:
        return coordinates(entry.record, entry.where)
    except InputError:
        return np.zeros((2, 0, 3))
