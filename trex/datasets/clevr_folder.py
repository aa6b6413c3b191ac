"""The pictures of a folder in CLEVR's layout, with their scenes if there are some; reports damage file by file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.inputs import ASPECT
from trex.datasets.examples import Example, Problem
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import read_bytes
from trex.foundation.images import read_png
from trex.foundation.json_fields import field, mapping, short, text
from trex.foundation.parse import parse_json
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

SCENES_FILE = re.compile(r"CLEVR_(?P<split>.+)_scenes\.json|(?P<growing>.+)\.jsonl")


class ClevrFolder:
    """images/SPLIT/*.png (or images/*.png) and scenes/*.json; yields each picture once, whatever scenes name it.

    Raises InputError if the folder has no picture, or lacks a requested split.
    """

    def __init__(self, folder: Path, splits: Sequence[str], vocabulary: Vocabulary) -> None:
        self._folder, self._vocabulary = folder, vocabulary
        self._problems: list[Problem] = []
        self._pictures = _list_pictures(folder, splits)
        self._only = frozenset(splits)
        self._scenes: dict[str, Scene] = {}
        self._damaged: set[str] = set()
        for path in _scene_files(folder / "scenes"):
            self._read_scenes(path)
        self._tell_missing_scenes()

    @property
    def words(self) -> str:
        """The folder's name and the number of pictures in each split."""
        counts = Counter(_split(name) or "images" for name in self._pictures)
        return f"{self._folder.name}: " + ", ".join(f"{n} of {split}" for split, n in sorted(counts.items()))

    @property
    def total(self) -> int:
        """All pictures, damaged ones included."""
        return len(self._pictures)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The files left out so far."""
        return tuple(self._problems)

    def __iter__(self) -> Iterator[Example]:
        for name, path in self._pictures.items():
            try:
                pixels = read_pixels(path)
            except InputError as error:
                self._add_problem(f"images/{name}", str(error))
                continue
            yield Example(name, _split(name), pixels, self._scenes.get(name))

    def _add_problem(self, file: str, what: str) -> None:
        problem = Problem(file, what)
        if problem not in self._problems[-1:]:
            self._problems.append(problem)

    def _read_scenes(self, path: Path) -> None:
        split, where = _file_split(path), f"scenes/{path.name}"
        if split and self._is_left_out(split):
            return
        if split and not self._has_pictures(split):
            self._add_problem(where, f"not read: there is no picture of split {split!r}")
            return
        records = _records(path)
        for index in count():
            try:
                record = next(records)
            except StopIteration:
                return
            except InputError as error:  # the rest of this file is unreadable
                self._add_problem(where, str(error))
                return
            self._take(record, split, f"{where}: scene {index}")

    def _take(self, data: object, file_split: str, where: str) -> None:
        """Store a scene under the name of its picture, or record why not."""
        try:
            record = mapping(data, where)
            split, plain = image_of(record, file_split, where)
        except InputError as error:
            self._add_problem(where, str(error))
            return
        if self._is_left_out(split):
            return
        name = f"{split}/{plain}" if f"{split}/{plain}" in self._pictures else plain
        if name not in self._pictures:
            self._add_problem(
                where, f"its picture {'/'.join(filter(None, ('images', split, plain)))} is not there"
            )
        elif name in self._scenes:
            self._add_problem(where, f"a second scene for images/{name}; the first is used")
        else:
            self._keep(name, record, where)

    def _keep(self, name: str, record: Mapping[str, object], where: str) -> None:
        try:
            self._scenes[name] = from_clevr(record, self._vocabulary, where)
        except InputError as error:
            self._damaged.add(name)
            self._add_problem(where, f"{error}; images/{name} is looked at without a true answer")

    def _tell_missing_scenes(self) -> None:
        """Record one problem for a split without any scenes, else one for each picture."""
        bare = [name for name in self._pictures if name not in self._scenes and name not in self._damaged]
        with_scenes = {_split(name) for name in self._scenes} | {_split(name) for name in self._damaged}
        whole = Counter(_split(name) for name in bare if _split(name) not in with_scenes)
        for split, number in sorted(whole.items()):
            place = f"images/{split}".rstrip("/")
            self._add_problem(place, f"no scenes: its {number} pictures are looked at without a true answer")
        for name in bare:
            if _split(name) in with_scenes:
                self._add_problem(f"images/{name}", "no scene: looked at without a true answer")

    def _is_left_out(self, split: str) -> bool:
        return bool(self._only) and split not in self._only

    def _has_pictures(self, split: str) -> bool:
        return any(_split(name) in (split, "") for name in self._pictures)


def read_pixels(path: Path) -> NDArray[np.uint8]:
    """The pixels (H, W, 3) of a PNG; InputError if it is damaged, too large, or not in the ratio 3:2."""
    pixels = read_png(path)
    height, width = pixels.shape[:2]
    if width * ASPECT[1] != height * ASPECT[0]:
        raise InputError(f"{width}x{height} is not 3 wide to 2 high as CLEVR's pictures are")
    return pixels


def _list_pictures(folder: Path, splits: Sequence[str]) -> dict[str, Path]:
    """The pictures below images/ by name, sorted."""
    images = folder / "images"
    if not images.is_dir():
        raise InputError(
            f"{folder} is no folder in CLEVR's layout: it has no images/; "
            "give one with images/SPLIT/*.png and scenes/CLEVR_SPLIT_scenes.json"
        )
    every = [path for path in (*images.glob("*"), *images.glob("*/*")) if _is_picture(path)]
    there = {path.relative_to(images).as_posix(): path for path in sorted(every)}
    for split in splits:
        if split not in {_split(name) for name in there}:
            raise unknown("split", split, sorted({_split(name) for name in there if _split(name)}))
    kept = {name: path for name, path in there.items() if not splits or _split(name) in splits}
    if not kept:
        raise InputError(f"{images} holds no PNG; CLEVR's layout is images/SPLIT/*.png")
    return kept


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() == ".png" and not path.name.startswith(".") and path.is_file()


def _split(name: str) -> str:
    return name.rpartition("/")[0]


def _scene_files(folder: Path) -> list[Path]:
    """scenes/*.json; for a data set that is still being rendered, the lines that exist instead."""
    whole = sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))
    done = {_file_split(path) for path in whole}
    return whole + [path for path in sorted(folder.glob("*.jsonl")) if _file_split(path) not in done]


def _file_split(path: Path) -> str:
    """The split in a scenes file's name, "" if there is none."""
    match = SCENES_FILE.fullmatch(path.name)
    return (match["split"] or match["growing"]) if match else ""


def _records(path: Path) -> Iterator[object]:
    if path.suffix == ".json":
        yield from read_items(path, "scenes")
        return
    lines = read_bytes(path).split(b"\n")[:-1]  # the part after the last newline is still being written
    for number, line in enumerate(lines, start=1):
        yield parse_json(line, f"line {number}")


def image_of(record: Mapping[str, object], file_split: str, where: str) -> tuple[str, str]:
    """The split and the file name of a record's picture; InputError if one of them leads out of the folder.

    `file_split` is the split of a record that names none.
    """
    split = text(record.get("split", file_split), f"{where}, split")
    name = text(field(record, "image_filename", where), f"{where}, image_filename")
    check_plain(name, f"{where}, image_filename")
    check_plain(split or "images", f"{where}, split")
    return split, name


def check_plain(name: str, where: str) -> None:
    """InputError for a name that leads out of the folder; names come from foreign files."""
    if name in ("", ".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError(f"{where} is {short(name)}; a plain name is allowed, no path")
