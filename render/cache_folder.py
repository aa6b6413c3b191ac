"""What a folder of kept pictures holds, and making it smaller.

Other programs may read and write it meanwhile: a picture that is gone is rendered again, one that is being read stays
readable, and one that is being written is locked by its writer and left alone.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".picture"
SCRATCH = ".tmp-"  # the beginning of a file's name while it is being written
ENTRY = re.compile(rf"[0-9a-f]{{64}}{re.escape(SUFFIX)}")
PART = re.compile(r"[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A kept picture: where it is, its bytes, and when it was written or last given out (seconds since 1970)."""

    path: Path
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Amount:
    """So many pictures, and their bytes."""

    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, and what is left."""

    gone: Amount
    left: Amount


def entries(folder: Path) -> list[Entry]:
    """Every kept picture, the one used longest ago first; none if there is no such folder."""
    found = []
    for item in _files(folder):
        if ENTRY.fullmatch(item.name):
            with suppress(FileNotFoundError):  # another program has deleted it meanwhile
                state = item.stat(follow_symlinks=False)
                found.append(Entry(Path(item.path), state.st_size, state.st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path.name))


def amount(kept: list[Entry]) -> Amount:
    """Their number and bytes."""
    return Amount(len(kept), sum(entry.size for entry in kept))


def prune(folder: Path, max_bytes: int | None, used_after: float | None = None) -> Pruned:
    """Delete pictures last used before `used_after`, then those used longest ago until `max_bytes` are left.

    Also what killed programs have left half-written. Raises OSError if the folder cannot be changed.
    """
    _sweep(folder)
    kept = entries(folder)
    before, left = amount(kept), amount(kept)
    for entry in kept:
        is_old = used_after is not None and entry.used < used_after
        is_too_much = max_bytes is not None and left.size > max_bytes
        if not (is_old or is_too_much):
            break
        entry.path.unlink(missing_ok=True)
        left = Amount(left.entries - 1, left.size - entry.size)
    return Pruned(Amount(before.entries - left.entries, before.size - left.size), left)


def mark_used(path: Path) -> None:
    """Note that a picture was given out; a folder that cannot be written to forgets it."""
    with suppress(OSError):
        os.utime(path)


def lock_scratch(handle: int) -> None:
    """Say that a file is being written, until it is closed; without locks a sweep costs its writer the entry."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(folder: Path) -> None:
    """Delete the half-written files that no living process holds."""
    for item in _files(folder):
        if item.name.startswith(SCRATCH):
            with suppress(OSError):
                _delete_unlocked(item.path)


def _delete_unlocked(path: str) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    """The plain files in the parts (two hexadecimal digits) of the folder; links are not followed."""
    for part in _listed(folder):
        if PART.fullmatch(part.name) and part.is_dir(follow_symlinks=False):
            yield from (item for item in _listed(Path(part.path)) if item.is_file(follow_symlinks=False))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except (FileNotFoundError, NotADirectoryError):
        return []
