"""The content of a cache folder, and its pruning.

Other programs may read and write it meanwhile: a deleted picture is rendered again, an open one stays readable, and
one being written is locked by its writer and left alone.
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
SCRATCH = ".tmp-"  # prefix of a file that is being written
ENTRY = re.compile(rf"[0-9a-f]{{64}}{re.escape(SUFFIX)}")
PART = re.compile(r"[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A cached picture: path, bytes, and the time when it was written or last used (seconds since 1970)."""

    path: Path
    size: int
    used: float


@dataclass(frozen=True, slots=True)
class Amount:
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class Pruned:
    gone: Amount
    left: Amount


def entries(folder: Path) -> list[Entry]:
    """Every cached picture, the least recently used first; empty if there is no such folder."""
    found = []
    for item in _files(folder):
        if ENTRY.fullmatch(item.name):
            with suppress(FileNotFoundError):  # deleted by another program meanwhile
                state = item.stat(follow_symlinks=False)
                found.append(Entry(Path(item.path), state.st_size, state.st_mtime))
    return sorted(found, key=lambda entry: (entry.used, entry.path.name))


def amount(kept: list[Entry]) -> Amount:
    return Amount(len(kept), sum(entry.size for entry in kept))


def prune(folder: Path, max_bytes: int | None, used_after: float | None = None) -> Pruned:
    """Delete pictures last used before `used_after`, then the least recently used until `max_bytes` are left.

    Also deletes files that killed programs left half-written. Raises OSError if the folder cannot be changed.
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
    """Record that a picture was used; does nothing in a folder that is not writable."""
    with suppress(OSError):
        os.utime(path, follow_symlinks=False)


def lock_scratch(handle: int) -> None:
    """Lock a file while it is being written; without locks, a sweep may delete the writer's entry."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(folder: Path) -> None:
    """Delete the half-written files that no living process has locked."""
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
    """The plain files in the folder's parts (two hexadecimal digits); follows no link."""
    for part in _listed(folder):
        if PART.fullmatch(part.name) and part.is_dir(follow_symlinks=False):
            yield from (item for item in _listed(Path(part.path)) if item.is_file(follow_symlinks=False))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except (FileNotFoundError, NotADirectoryError):
        return []
