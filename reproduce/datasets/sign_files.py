"""Files of German traffic signs: numpy's npz, and the official archives, which are read without unpacking to disk.

Either gives whole frames, resized to 32 pixels, with tracks and boxes. An npz holds the arrays images, labels,
orig_wh_roi and, for training, track and frame. The archives (Stallkamp et al. 2012,
https://benchmark.ini.rub.de/gtsrb_dataset.html) hold PPM pictures beside tables GT-*.csv: `;` between the columns
Filename, Width, Height, Roi.X1, Roi.Y1, Roi.X2, Roi.Y2, ClassId; a training picture is TRACK_FRAME.ppm in its class's
folder. No reader runs anything in a file.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from trex.artifacts.archives import DAMAGE_ERRORS, check_inflation, open_zip, unpack_member
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_bytes
from trex.foundation.json_fields import short

SIDE_PX = 32
CLASSES = 43
FIX = "get the file again"


class Frames(NamedTuple):
    """Frames of one split.

    `images` (N, 32, 32, 3) bytes, the whole frame resized; `labels` (N,) index `names.NAMES`; `track` (N,) and
    `frame` (N,), counted within a class, None for the test split; `boxes` (N, 6): width and height of the frame, and
    the sign's corners x1, y1, x2, y2 in it, in pixels of the frame as it was filmed.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    track: NDArray[np.int64] | None
    frame: NDArray[np.int64] | None
    boxes: NDArray[np.int64]


LIMIT_BYTES = 512 * MIB  # all 39,209 frames in 32 pixels are 120 MB
KINDS = {"images": "u", "labels": "u", "orig_wh_roi": "iu", "track": "iu", "frame": "iu"}  # of numpy's dtypes
TRACKED = ("track", "frame")
MEMBER = ".npy"


def read_packed(path: Path, has_tracks: bool) -> Frames:
    """The frames in a file; InputError if it is damaged, holds objects, or lacks an array of the right form."""
    names = ("images", "labels", "orig_wh_roi", *(TRACKED if has_tracks else ()))
    found = _arrays(path, names)
    _check(path, found)
    wide = {name: found[name].astype(np.int64) for name in names[2:]}
    return Frames(
        found["images"].astype(np.uint8, copy=False),
        found["labels"].astype(np.uint8, copy=False),
        wide.get("track"),
        wide.get("frame"),
        wide["orig_wh_roi"],
    )


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[np.generic]]:
    data = read_bytes(path, limit=LIMIT_BYTES)
    check_inflation(data, str(path), limit=LIMIT_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            there = archive.namelist()
            missing = [name for name in names if f"{name}{MEMBER}" not in there]
            if missing:
                raise InputError(
                    f"{path} has no array {missing[0]!r} (it has {', '.join(there) or 'none'}); {FIX}"
                )
            for name in names:
                _check_header(path, archive, name)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (*DAMAGE_ERRORS, OSError, MemoryError) as error:
        raise InputError(f"{path} is damaged ({error}); {FIX}") from error


def _check_header(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """InputError unless an array holds numbers, and as many bytes follow its header as it announces.

    numpy takes the memory that a header announces before it reads.
    """
    member = f"{name}{MEMBER}"
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise InputError(f"{path}: array {name!r} is of format {version}; save it with numpy.savez")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
    if dtype.hasobject or dtype.kind not in KINDS[name]:
        raise InputError(f"{path}: array {name!r} holds {dtype}; it must hold whole numbers; {FIX}")
    announced = int(np.prod(shape, dtype=object)) * dtype.itemsize
    there = archive.getinfo(member).file_size - start
    if announced != there:
        raise InputError(f"{path}: array {name!r} announces {announced:,} bytes, {there:,} are there; {FIX}")


def _check(path: Path, found: Mapping[str, NDArray[np.generic]]) -> None:
    images, labels = found["images"], found["labels"]
    n = len(images) if images.ndim else 0
    if images.dtype != np.uint8 or images.shape != (n, SIDE_PX, SIDE_PX, 3) or not n:
        raise InputError(
            f"{path}: images are {images.dtype} {images.shape}; they must be uint8 (N, 32, 32, 3); {FIX}"
        )
    for name, shape in {"labels": (n,), "orig_wh_roi": (n, 6), "track": (n,), "frame": (n,)}.items():
        if name in found and found[name].shape != shape:
            raise InputError(f"{path}: {name} are {found[name].shape}; they must be {shape}; {FIX}")
    if int(labels.max()) >= CLASSES:
        raise InputError(f"{path} holds label {labels.max()}; labels are 0 to {CLASSES - 1}; {FIX}")
    for name in TRACKED:
        if name in found and int(found[name].min()) < 0:
            raise InputError(f"{path}: {name} {found[name].min()} is below 0; {FIX}")
    if int(found["orig_wh_roi"][:, :2].min()) < 1:
        raise InputError(f"{path}: orig_wh_roi names a frame without pixels; {FIX}")


TRAINING = ("GTSRB_Final_Training_Images.zip", "GTSRB-Training_fixed.zip")
TEST_PICTURES, TEST_TABLE = "GTSRB_Final_Test_Images.zip", "GTSRB_Final_Test_GT.zip"
COLUMNS = ("Filename", "Width", "Height", "Roi.X1", "Roi.Y1", "Roi.X2", "Roi.Y2", "ClassId")
TRAINING_NAME = re.compile(r"(\d{5})_(\d{5})\.ppm")
TEST_NAME = re.compile(r"\d{5}\.ppm")
TABLE = re.compile(r"GT-[\w.-]+\.csv")
LARGEST_PX = 1000  # the largest official frame has 266
MEMBER_LIMIT = 4 * MIB


class Row(NamedTuple):
    """A picture in a table: its member of the archive, width, height and box in pixels, and its class."""

    member: str
    box: tuple[int, ...]
    label: int


def read_training(path: Path) -> Frames:
    """The training frames of an archive; InputError for any fault in it."""
    with open_zip(path) as archive:
        _check_names(path, archive)
        tables = sorted(name for name in archive.namelist() if TABLE.fullmatch(PurePosixPath(name).name))
        rows = [row for table in tables for row in _rows(path, archive, table, TRAINING_NAME)]
        frames = _frames(path, archive, rows)
    numbers = np.array([_track_and_frame(row.member) for row in rows], np.int64)
    return frames._replace(track=numbers[:, 0], frame=numbers[:, 1])


def read_test(pictures: Path, table: Path) -> Frames:
    """The test frames: pictures of one archive, classes from the table in the other; InputError for any fault."""
    with open_zip(table) as archive:
        _check_names(table, archive)
        names = [name for name in archive.namelist() if TABLE.fullmatch(PurePosixPath(name).name)]
        if len(names) != 1:
            raise InputError(f"{table} holds {len(names)} tables GT-*.csv instead of 1; {FIX}")
        rows = list(_rows(table, archive, names[0], TEST_NAME))
    with open_zip(pictures) as archive:
        _check_names(pictures, archive)
        places = {PurePosixPath(name).name: name for name in archive.namelist() if name.endswith(".ppm")}
        found = [row._replace(member=places.get(PurePosixPath(row.member).name, row.member)) for row in rows]
        return _frames(pictures, archive, found)


def _check_names(path: Path, archive: zipfile.ZipFile) -> None:
    """InputError if a member's name leaves the archive, although nothing is written under it."""
    for name in archive.namelist():
        if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
            raise InputError(f"{path} holds {short(name)}, a path that leaves the archive; {FIX}")


def _rows(path: Path, archive: zipfile.ZipFile, table: str, form: re.Pattern[str]) -> Iterator[Row]:
    try:
        text = _member(path, archive, table).decode("ascii")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {table} is no text ({error}); {FIX}") from error
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=";")
    head = tuple(next(lines, ()))
    if head != COLUMNS:
        raise InputError(
            f"{path}: {table} has columns {short(';'.join(head))} instead of {';'.join(COLUMNS)}"
        )
    seen: set[str] = set()
    for number, line in enumerate(lines, start=2):
        where = f"{path}: {table}, line {number}"
        if len(line) != len(COLUMNS) or not all(value.isdecimal() for value in line[1:]):
            raise InputError(f"{where} is not a name and {len(COLUMNS) - 1} whole numbers; {FIX}")
        name, values = line[0], tuple(map(int, line[1:]))
        if not form.fullmatch(name):  # so no name leads out of the table's folder
            raise InputError(f"{where}: {short(name)} is not the name of a picture of this split; {FIX}")
        if values[-1] >= CLASSES:
            raise InputError(f"{where}: class {values[-1]}; classes are 0 to {CLASSES - 1}; {FIX}")
        if name in seen:
            raise InputError(f"{where}: {name} a second time; {FIX}")
        seen.add(name)
        yield Row(str(PurePosixPath(table).parent / name), values[:-1], values[-1])


def _frames(path: Path, archive: zipfile.ZipFile, rows: list[Row]) -> Frames:
    if not rows:
        raise InputError(f"{path} has no picture in a table GT-*.csv; {FIX}")
    images = np.stack([_picture(path, archive, row) for row in rows])
    labels = np.array([row.label for row in rows], np.uint8)
    return Frames(images, labels, None, None, np.array([row.box for row in rows], np.int64))


def _picture(
    path: Path, archive: zipfile.ZipFile, row: Row
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """(32, 32, 3): the whole frame, resized bilinearly over all its pixels."""
    width, height = row.box[:2]
    data = _member(path, archive, row.member)
    try:
        with Image.open(io.BytesIO(data), formats=["PPM"]) as image:
            if image.size != (width, height) or image.mode != "RGB" or max(image.size) > LARGEST_PX:
                raise InputError(
                    f"{path}: {row.member} is {image.mode} of {image.size} pixels, and its table says RGB of "
                    f"{(width, height)}, at most {LARGEST_PX}; {FIX}"
                )
            return np.asarray(image.resize((SIDE_PX, SIDE_PX), Image.Resampling.BILINEAR))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError) as error:
        raise InputError(
            f"{path}: {row.member} is not a PPM picture, or is truncated ({error}); {FIX}"
        ) from error


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        member = archive.getinfo(name)
    except KeyError as error:
        raise InputError(f"{path} has no {name}, which its table names; {FIX}") from error
    data = io.BytesIO()
    unpack_member(archive, member, data, f"{path}: {name}", MEMBER_LIMIT)
    return data.getvalue()


def _track_and_frame(member: str) -> tuple[int, int]:
    found = TRAINING_NAME.fullmatch(PurePosixPath(member).name)
    assert found is not None  # `_rows` has checked it
    return int(found[1]), int(found[2])
