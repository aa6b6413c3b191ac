"""The official archives of traffic signs: PPM pictures beside tables GT-*.csv, read without unpacking to disk.

The form (Stallkamp et al. 2012, https://benchmark.ini.rub.de/gtsrb_dataset.html): `;` between the columns Filename,
Width, Height, Roi.X1, Roi.Y1, Roi.X2, Roi.Y2, ClassId; a training picture is TRACK_FRAME.ppm in its class's folder.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from trex.foundation.archives import open_zip, unpack_member
from trex.foundation.errors import InputError
from trex.foundation.files import DATA_LIMIT, MIB
from trex.foundation.json_fields import short
from trex.mnist_models.data.signs.frames import FIX, SIDE_PX, Frames
from trex.mnist_models.data.signs.names import NAMES

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
    with open_zip(path, limit=DATA_LIMIT) as archive:
        _check_names(path, archive)
        tables = sorted(name for name in archive.namelist() if TABLE.fullmatch(PurePosixPath(name).name))
        rows = [row for table in tables for row in _rows(path, archive, table, TRAINING_NAME)]
        frames = _frames(path, archive, rows)
    numbers = np.array([_track_and_frame(row.member) for row in rows], np.int64)
    return frames._replace(track=numbers[:, 0], frame=numbers[:, 1])


def read_test(pictures: Path, table: Path) -> Frames:
    """The test frames: pictures of one archive, classes from the table in the other; InputError for any fault."""
    with open_zip(table, limit=DATA_LIMIT) as archive:
        _check_names(table, archive)
        names = [name for name in archive.namelist() if TABLE.fullmatch(PurePosixPath(name).name)]
        if len(names) != 1:
            raise InputError(f"{table} holds {len(names)} tables GT-*.csv instead of 1; {FIX}")
        rows = list(_rows(table, archive, names[0], TEST_NAME))
    with open_zip(pictures, limit=DATA_LIMIT) as archive:
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
        if values[-1] >= len(NAMES):
            raise InputError(f"{where}: class {values[-1]}; classes are 0 to {len(NAMES) - 1}; {FIX}")
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
