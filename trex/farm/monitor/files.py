"""Opens files of run folders for the pages, by checked names and without following any link."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trex.foundation.files import open_inside
from trex.runs.picture_files import PICTURES

# No hidden file, no parent folder, and no name that is not UTF-8 (Python reads such bytes as lone surrogates).
NAME = re.compile(r"[^./\x00-\x1f\x7f\ud800-\udfff][^/\x00-\x1f\x7f\ud800-\udfff]{0,200}")
PICTURE_NAME = re.compile(r"[0-9a-f]{32}\.png")
PIECE = 1 << 16
LATEST = 12  # pictures


def open_below(runs: Path, *names: str) -> BinaryIO | None:
    """The plain file at runs/name/.../name; None if there is none or any part of the path is a link."""
    if not all(map(is_plain, names)):
        return None
    try:
        number = open_inside(runs, names)
    except (OSError, ValueError):  # ValueError: a name that is invalid on any file system
        return None
    if stat.S_ISREG(os.fstat(number).st_mode):
        return os.fdopen(number, "rb")
    os.close(number)
    return None


def is_plain(name: str) -> bool:
    """Whether a file or folder of this name may be shown."""
    return NAME.fullmatch(name) is not None


def latest_pictures(path: Path) -> list[str]:
    """The names of a run's latest pictures, newest first."""
    try:
        with os.scandir(path / PICTURES) as items:
            found = [
                (item.stat().st_mtime_ns, item.name) for item in items if PICTURE_NAME.fullmatch(item.name)
            ]
    except OSError:
        return []
    return [name for _, name in sorted(found, reverse=True)[:LATEST]]


def chunks(file: BinaryIO) -> Iterator[bytes]:
    """The file's content in chunks; closes it at the end."""
    with file:
        while piece := file.read(PIECE):
            yield piece
