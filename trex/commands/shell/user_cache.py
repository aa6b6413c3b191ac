"""The parts of the user's cache, and pruning of the part that can be deleted: pictures, which can be rendered again."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trex.artifacts.cache import PICTURES, cache_root, pictures_folder
from trex.foundation.errors import InputError, RunError
from trex.render.cache_folder import Pruned, prune

PARTS = (
    (PICTURES, "pictures rendered by trex baseline --rendered and trex suite run --render"),
    (Path("baselines") / "drawn", "the scenes of these pictures"),
    (Path("banks"), "scenes rendered by trex render bank; see trex cache banks"),
    (Path("models"), "models fetched by trex models fetch"),
    (Path("digits"), "digits and garments: pictures and trained models"),
    (Path("replies"), "replies of openai: models; deleted ones are asked for again"),
    (Path("gates"), "accuracies measured by trex models verify"),
)
AGE = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII | re.IGNORECASE)
HOURS = {"h": 1, "d": 24, "w": 7 * 24}


@dataclass(frozen=True)
class Part:
    """A folder of the cache: its purpose, number of files and bytes."""

    path: Path
    what: str
    files: int
    size: int


def parts() -> list[Part]:
    """Every part of the cache, including empty ones."""
    return [Part(cache_root() / path, what, *_content(cache_root() / path)) for path, what in PARTS]


def prune_pictures(folder: Path, max_bytes: int | None, used_after: float | None) -> Pruned:
    """Delete pictures of a cache folder; InputError if there is no such folder."""
    if folder != pictures_folder() and not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; give a folder of cached pictures, such as RUN/explanations/cache"
        )
    try:
        return prune(folder, max_bytes, used_after)
    except OSError as error:
        raise RunError(f"cannot delete pictures in {folder}: {error.strerror}") from error


def parse_age_s(text: str) -> float:
    """Seconds in an age such as 12h, 30d or 8w."""
    found = AGE.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"--older-than {text[:40]!r} is not an age; give hours, days or weeks, e.g. 12h, 30d or 8w"
        )
    return 3600.0 * int(found[1]) * HOURS[found[2].lower()]


def size_words(size: int) -> str:
    """Bytes in the largest unit that gives at least one."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"


def _content(folder: Path) -> tuple[int, int]:
    """The number and bytes of files below a folder; follows no link."""
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                size += os.lstat(os.path.join(place, name)).st_size
                files += 1
    return files, size
