"""The one reader of folders in CLEVR's layout: its pictures, and each scene and question with its picture.

Pictures are `images/SPLIT/*.png` or `images/*.png`, or JPEGs. Scenes are below `scenes/`, or in files such as
`CLEVR_scenes.json` beside it; questions alike. So what the public generator writes is read as it lies, and so is
CLEVR v1.0. Hidden files, which systems leave in folders, are ignored. `images`, `scenes` and `questions` may be
links, but no link below them is followed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from mimetypes import guess_type
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.inputs import ASPECT
from trex.datasets.examples import Tally, loss_remark
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import shown
from trex.foundation.images import read_picture
from trex.foundation.json_fields import field, mapping, short, text
from trex.scenes.clevr_format.json_files import read_items

IMAGES, SCENES, QUESTIONS = "images", "scenes", "questions"
WHOLE, GROWING = ".json", ".jsonl"
PICTURE_ENDING = re.compile(r"\.(png|jpe?g)$", re.IGNORECASE)
LAYOUT = "give a folder with images/SPLIT/*.png or images/*.png, and scenes/*.json or CLEVR_scenes.json"
OnProblem = Callable[[str, str], None]  # receives a file or record, and why it is not used


class RecordFile(NamedTuple):
    """A file of scenes or questions: its path, the folder that no link may lead out of, and what its name tells."""

    path: Path
    inside: Path
    where: str  # below the data set's folder
    source: str  # "CLEVR" of CLEVR_val_questions.json, else the name without ending
    split: str  # "" if the name tells none


class ClevrEntry(NamedTuple):
    """A scene or question with the name of its picture below images/, "" if it is not there."""

    record: Mapping[str, object]
    where: str
    file: RecordFile
    picture: str
    named: tuple[str, str]  # the split and the picture that the record names


@dataclass(frozen=True)
class ClevrFiles:
    """A folder in CLEVR's layout; names of pictures are relative to images/, sorted."""

    folder: Path
    splits: tuple[str, ...]  # the chosen ones; none: all
    every: tuple[str, ...]

    @cached_property
    def pictures(self) -> tuple[str, ...]:
        """The pictures of the chosen splits."""
        return tuple(name for name in self.every if not self.splits or split_of(name) in self.splits)

    @property
    def unread(self) -> tuple[str, ...]:
        """The pictures of the chosen splits that are not read: of other kinds, in deeper folders, or beside a PNG."""
        read = set(self.every)
        paths = ((path, path.relative_to(self.images).as_posix()) for path in self.images.rglob("*"))
        found = sorted(
            name
            for path, name in paths
            if name not in read and _is_image(name) and _is_shown(path, self.images)
        )
        return tuple(name for name in found if not self.splits or name.partition("/")[0] in self.splits)

    @property
    def images(self) -> Path:
        """The folder of the pictures."""
        return self.folder / IMAGES

    def label(self, name: str) -> str:
        """A picture's name without ending, and without its split if no other picture has the same."""
        bare = _bare(name)
        stem = bare.rpartition("/")[2]
        return stem if len(self._same[stem]) == 1 else bare

    def named(self, image: str) -> list[str]:
        """The pictures that a user may mean by a name: with or without ending, with or without split."""
        wanted = _bare(image.removeprefix(f"{IMAGES}/"))
        return [name for name in self.pictures if wanted in (_bare(name), _bare(Path(name).name))]

    def entries(self, kind: str, on_problem: OnProblem, on_absent: OnProblem) -> Iterator[ClevrEntry]:
        """Each scene or question (`kind`) of the chosen splits.

        A file or record that cannot be read goes to `on_problem`, a file about a split without pictures to `on_absent`.
        """
        for file in self.files(kind):
            for index, (where, record, named) in enumerate(_records(file, kind, on_problem)):
                split, plain = named
                if index == 0 and split and split == file.split and not self._has_pictures(split):
                    if not self.splits:
                        on_absent(file.where, f"not read: there is no picture of split {split!r}")
                    break
                name = self._find(split, file.split, plain)
                if name in self._chosen or not (name or self._is_left_out(split)):
                    yield ClevrEntry(record, where, file, name, named)

    def files(self, kind: str) -> list[RecordFile]:
        """The files of scenes or questions: those in the folder of this name, then those beside it.

        Of a split that is still being rendered there are lines, which the finished file replaces.
        """
        below = self.folder / kind
        places = [(below, "*"), (below, "*/*"), (self.folder, f"*{kind}*")]
        found = [
            self._file(path, inside, kind)
            for inside, pattern in places
            for path in sorted(inside.glob(pattern))
            if path.suffix.lower() in (WHOLE, GROWING) and _is_shown(path, inside)
        ]
        done = {file.split for file in found if file.split and file.path.suffix.lower() == WHOLE}
        return [file for file in found if file.path.name not in {f"{split}{GROWING}" for split in done}]

    def missing(self, entry: ClevrEntry) -> str:
        """That the picture of an entry is not there, and where a picture of this name is."""
        split, plain = entry.named
        same = self._same.get(_bare(plain), [])
        hint = f", but {IMAGES}/{same[0]} is: its 'split' must name that folder" if same else ""
        return f"its picture {'/'.join(filter(None, (IMAGES, split, plain)))} is not there{hint}"

    @cached_property
    def _index(self) -> dict[str, str]:
        return {_bare(name): name for name in self.every}

    @cached_property
    def _chosen(self) -> frozenset[str]:
        return frozenset(self.pictures)

    @cached_property
    def _same(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.every:
            found.setdefault(_bare(Path(name).name), []).append(name)
        return found

    @cached_property
    def _folders(self) -> frozenset[str]:
        return frozenset(map(split_of, self.every))

    def _has_pictures(self, split: str) -> bool:
        return "" in self._folders or (split in self._folders and not self._is_left_out(split))

    def _is_left_out(self, split: str) -> bool:
        return bool(self.splits) and split not in self.splits

    def _find(self, split: str, file_split: str, plain: str) -> str:
        """The picture that a record names; by its name alone if neither the record nor its file names a split."""
        bare = _bare(plain)
        places = (split, "") if split in self._folders else (split, file_split, "")
        for place in places:
            name = self._index.get(f"{place}/{bare}" if place else bare)
            if name is not None:
                return name
        same = self._same.get(bare, []) if not split else []
        return same[0] if len(same) == 1 else ""

    def _file(self, path: Path, inside: Path, kind: str) -> RecordFile:
        match = re.fullmatch(rf"(?P<source>[^_]+)_(?P<split>.+)_{kind}\.jsonl?", path.name, re.IGNORECASE)
        source, split = (match["source"], match["split"]) if match else (path.stem, "")
        if (
            not match
            and path.suffix.lower() == GROWING
            and path.stem in {*self._folders, *planned(self.folder)}
        ):
            split = path.stem  # `trex render dataset` writes it
        elif not match and path.parent != inside:
            split = path.parent.name
        return RecordFile(path, inside, path.relative_to(self.folder).as_posix(), source, split)


def open_files(folder: Path, splits: tuple[str, ...] = ()) -> ClevrFiles:
    """A folder in CLEVR's layout; InputError if it has no picture, or lacks a requested split."""
    images = folder / IMAGES
    if not folder.is_dir():
        raise InputError(f"{shown(folder)} {'is a file' if folder.exists() else 'does not exist'}; {LAYOUT}")
    if not images.is_dir():
        raise InputError(
            f"{shown(folder)} is no folder in CLEVR's layout: it has no images/; {_nearest(folder)}"
        )
    every = [path for path in (*images.glob("*"), *images.glob("*/*")) if _is_picture(path, images)]
    if not every:
        raise InputError(f"{shown(images)} holds no PNG or JPEG, {_instead(images)}; {LAYOUT}")
    found = (path.relative_to(images).as_posix() for path in sorted(every))
    by_bare = {_bare(name): name for name in sorted(found, key=lambda name: name.lower().endswith(".png"))}
    names = tuple(sorted(by_bare.values()))  # of two that a record may mean, the PNG
    there = sorted({split_of(name) for name in names} - {""})
    for split in splits:
        if not there:
            raise InputError(
                f"{shown(images)} has no splits: its pictures lie side by side; drop --split {split}"
            )
        if split not in there:
            raise unknown("split", split, there)
    return ClevrFiles(folder, splits, names)


def read_pixels(path: Path, images: Path, tally: Tally | None = None) -> NDArray[np.uint8]:
    """The pixels (H, W, 3) of a picture below `images`; what they lack of the file goes to `tally`.

    InputError if it is damaged, too large, reached by a link, or not in the ratio 3:2.
    """
    pixels, losses = read_picture(path, images)
    height, width = pixels.shape[:2]
    if width * ASPECT[1] != height * ASPECT[0]:
        raise InputError(
            f"{shown(path)}: {width}x{height} is not 3 wide to 2 high as CLEVR's pictures are, and models would see it "
            "squashed; render it as 480x320 (the public generator: --width 480 --height 320)"
        )
    if tally is not None:
        for loss in losses:
            tally.add(loss_remark(loss), f"{IMAGES}/{path.relative_to(images).as_posix()}")
    return pixels


def readable_pixels(
    path: Path, images: Path, tally: Tally, on_problem: OnProblem
) -> NDArray[np.uint8] | None:
    """As `read_pixels`; None for a picture that cannot be used, which goes to `on_problem`."""
    try:
        return read_pixels(path, images, tally)
    except InputError as error:
        on_problem(f"{IMAGES}/{path.relative_to(images).as_posix()}", str(error))
        return None


def split_of(name: str) -> str:
    """The folder of a picture's name, "" for pictures that lie in images/ itself."""
    return name.rpartition("/")[0]


def planned(folder: Path) -> set[str]:
    """The splits that `trex render dataset` has made or is making here."""
    return {path.name.removesuffix(".plan.json") for path in folder.glob("*.plan.json")}


def check_plain(name: str, where: str) -> None:
    """InputError for a name that leads out of the folder; names come from foreign files."""
    if name in ("", ".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError(f"{where} is {short(name)}; a plain name is allowed, no path")


def _records(
    file: RecordFile, kind: str, on_problem: OnProblem
) -> Iterator[tuple[str, Mapping[str, object], tuple[str, str]]]:
    """Each record of a file: its place, itself, and the split and picture that it names."""
    items = read_items(file.path, kind, inside=file.inside)
    for index in count():
        where = f"{file.where}: {kind.removesuffix('s')} {index}"
        try:
            item = next(items)
        except StopIteration:
            return
        except InputError as error:  # the rest of this file is unreadable
            on_problem(file.where, str(error))
            return
        try:
            record = mapping(item, where)
            yield where, record, _image_of(record, file, where)
        except InputError as error:
            on_problem(where, str(error))


def _image_of(record: Mapping[str, object], file: RecordFile, where: str) -> tuple[str, str]:
    """The split and the file name of a record's picture; InputError if one of them leads out of the folder."""
    given = record.get("split")
    split = file.split if given is None else text(given, f"{where}, split")
    key = next((key for key in ("image_filename", "image") if record.get(key) is not None), "")
    number = record.get("image_index")
    if key:
        name = text(record[key], f"{where}, {key}")
    elif type(number) is int and split:
        name = f"CLEVR_{split}_{number:06d}.png"
    else:
        name = text(field(record, "image_filename", where), f"{where}, image_filename")
    check_plain(name, f"{where}, {key or 'image_filename'}")
    check_plain(split or IMAGES, f"{where}, split")
    return split, name


def _bare(name: str) -> str:
    """The name without the ending of a picture: a converted one has another than its record says."""
    return PICTURE_ENDING.sub("", name)


def _is_image(name: str) -> bool:
    kind, _ = guess_type(name, strict=False)
    return kind is not None and kind.startswith("image/")


def _is_picture(path: Path, images: Path) -> bool:
    return PICTURE_ENDING.search(path.name) is not None and _is_shown(path, images)


def _is_shown(path: Path, root: Path) -> bool:
    """Whether it is a file that a user put there: not one of Finder's, Explorer's or a notebook's."""
    parts = path.relative_to(root).parts
    return not any(part.startswith(".") or part == "__MACOSX" for part in parts) and path.is_file()


def _nearest(folder: Path) -> str:
    """What to give instead of a folder without images/."""
    if folder.name == IMAGES:
        return f"give the folder above it: {shown(folder.parent)}"
    deeper = sorted(path.parent for path in folder.glob(f"*/{IMAGES}") if _is_folder(path, folder))
    return f"it is in {shown(deeper[0])}: give that" if deeper else LAYOUT


def _is_folder(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return path.is_dir() and not any(part.startswith((".", "__")) for part in parts)


def _instead(images: Path) -> str:
    """What a folder without a picture to read holds."""
    found = sorted(path for path in images.rglob("*") if _is_shown(path, images))
    if not found:
        return "and no other file"
    deep = next((path.parent for path in found if _is_picture(path, images)), None)
    if deep is not None:
        return f"but {shown(deep.relative_to(images))} does, which is too deep: move them up"
    kinds = Counter(path.suffix.lower() or "no ending" for path in found).most_common(3)
    first = shown(found[0].relative_to(images))
    return f"but {', '.join(f'{number:,} of {kind}' for kind, number in kinds)}, such as {first}; convert or move them"
