"""The content of a cache folder, its size limit (10 GiB, or the value of TREX_CACHE_MAX), and its pruning.

Other programs may read and write it meanwhile: a deleted picture is rendered again, an open one stays readable, and
one being written is locked by its writer and left alone.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import InputError

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


log = logging.getLogger(__name__)
VARIABLE = "TREX_CACHE_MAX"
DEFAULT = "10G"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(?:I?B)?", re.ASCII | re.IGNORECASE)
KEPT = 0.9  # of the limit, after it is exceeded, so that not every further picture causes a deletion
LOOKS = 20  # checks, at least, while as much is written as the limit: other programs write too


def parse_size(text: str, name: str) -> int:
    """Bytes in a size such as 10G or 500M (units of 1,024); `name` names the setting in errors."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{name} {text[:40]!r} is not a size; give bytes, or a number with K, M, G or T, e.g. 10G"
        )
    return int(float(found[1]) * UNITS[found[2].upper()])


def max_bytes() -> int:
    return parse_size(os.environ.get(VARIABLE) or DEFAULT, VARIABLE)


class Bound:
    """Keeps a folder below the limit by deleting the least recently used pictures."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.max_bytes = folder, max_bytes()
        self._room = 0  # bytes until the next check of the folder

    def added(self, size: int) -> None:
        """Count bytes written; deletes old pictures if there are too many."""
        self._room -= size
        if self._room < 0:
            self._room = min(self._make_room(), self.max_bytes // LOOKS)

    def _make_room(self) -> int:
        try:
            pruned = prune(self.folder, self.max_bytes)
            if pruned.gone.entries:
                pruned = prune(self.folder, int(KEPT * self.max_bytes))
                log.info("the picture cache %s reached its %d MiB", self.folder, self.max_bytes >> 20)
        except OSError as error:
            log.warning("cannot shrink the picture cache %s (%s)", self.folder, error)
            return self.max_bytes
        return self.max_bytes - pruned.left.size
