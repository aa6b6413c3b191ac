"""The banks on disk: where they are, how much they take, and their deletion, one whole bank after another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trex.artifacts.cache import cache_root
from trex.bank.index import FILE, BankIndex, read_index
from trex.foundation.errors import InputError, RunError
from trex.foundation.locked_folder import hold
from trex.render.cache_folder import amount, entries, parse_size, prune

FOLDER, LIMIT = "TREX_BANK", "TREX_BANK_MAX"  # variables of the environment
DEFAULT_LIMIT = "20G"
IN_USE, BATCHES = "in-use", "batches"  # lock files
SCENES = "scenes"
NAME = re.compile(r"[0-9a-f]{32}")


class BankInUse(RunError):
    """Another process has the bank open."""


def bank_root() -> Path:
    """The folder of all banks: `$TREX_BANK`, or `banks` in the user's cache."""
    place = os.environ.get(FOLDER)
    return Path(place) if place else cache_root() / "banks"


def max_bytes() -> int:
    """The limit on all banks of one folder together."""
    return parse_size(os.environ.get(LIMIT) or DEFAULT_LIMIT, LIMIT)


@dataclass(frozen=True)
class StoredBank:
    """A bank on disk: its index, or why that cannot be read; pictures and bytes; last use (seconds since 1970)."""

    path: Path
    index: BankIndex | None
    why: str
    pictures: int
    size: int
    used: float

    @property
    def name(self) -> str:
        """The name of its folder: 32 hex digits."""
        return self.path.name


@dataclass(frozen=True)
class PrunedBanks:
    """The deleted banks, those left, and those that should go but are in use."""

    gone: tuple[StoredBank, ...]
    left: tuple[StoredBank, ...]
    busy: tuple[StoredBank, ...]


@dataclass(frozen=True)
class Due:
    """Which banks to delete: by name, all, those last used before a time, or the next one while more than `most`."""

    names: frozenset[str] = frozenset()
    is_all: bool = False
    before: float | None = None
    most: int | None = None

    def __call__(self, bank: StoredBank, total: int) -> bool:
        """Whether this bank is to go; `total` is the bytes of all that are left."""
        is_old = self.before is not None and bank.used < self.before
        is_too_much = self.most is not None and total > self.most
        return self.is_all or bank.name in self.names or is_old or is_too_much


def stored_banks(root: Path) -> list[StoredBank]:
    """All banks in this folder, the least recently used first; empty if there is no such folder."""
    try:
        with os.scandir(root) as items:
            folders = [Path(item.path) for item in items if _is_bank(item)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(map(_kept, folders), key=lambda bank: (bank.used, bank.name))


def prune_banks(root: Path, due: Due) -> PrunedBanks:
    """Delete the banks that are due, the least recently used first.

    A bank that a running program has open is left alone. Raises OSError.
    """
    gone, left, busy = [], [], []
    banks = stored_banks(root)
    total = sum(bank.size for bank in banks)
    for bank in banks:
        if not due(bank, total):
            left.append(bank)
        elif delete(bank.path):
            gone.append(bank)
            total -= bank.size
        else:
            busy.append(bank)
    if gone:
        _forget_scenes(root, left + busy)
    return PrunedBanks(tuple(gone), tuple(left), tuple(busy))


def delete(folder: Path) -> bool:
    """Delete a bank's pictures and index, and its folder if nothing else is in it; False if the bank is in use."""
    with suppress(FileNotFoundError):
        lock = open_lock(folder / IN_USE)
        try:
            hold(lock, folder, BankInUse(f"another process uses the bank {folder}"))
            if not is_in_place(lock, folder / IN_USE):  # another program has deleted the bank meanwhile
                return delete(folder)
            _empty(folder)
        except BankInUse:
            return False
        finally:
            os.close(lock)
    return True


def open_lock(path: Path) -> int:
    """The descriptor of a lock file, which is made if it is missing; raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def is_in_place(lock: int, path: Path) -> bool:
    """Whether an open lock file still has its path; a lock on one that was deleted keeps nobody out."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), os.stat(path, follow_symlinks=False))
    return False


def refuse_link(bank: Path) -> None:
    """InputError if the folder of a bank is a link: only a bank's own folder is counted, bounded and deleted."""
    if bank.is_symlink():
        raise InputError(
            f"{bank} is a symbolic link, and a bank in another folder is not counted; delete the link, or name the "
            "folder of the banks with --bank or TREX_BANK"
        )


def select(banks: Iterable[StoredBank], prefixes: Iterable[str]) -> frozenset[str]:
    """The names of the banks with these prefixes; InputError unless each has exactly one."""
    names = [bank.name for bank in banks]
    chosen = set()
    for prefix in prefixes:
        found = [name for name in names if prefix and name.startswith(prefix)]
        if len(found) != 1:
            what = f"{len(found)} banks begin" if found else "no bank begins"
            raise InputError(f"{what} with {prefix[:40]!r}; see them with trex cache banks")
        chosen.add(found[0])
    return frozenset(chosen)


def _is_bank(item: os.DirEntry[str]) -> bool:
    return bool(NAME.fullmatch(item.name)) and item.is_dir(follow_symlinks=False)


def _kept(folder: Path) -> StoredBank:
    pictures = amount(entries(folder))
    try:
        index, why = read_index(folder), ""
    except InputError as error:
        index, why = None, str(error)
    used = 0.0
    for path in (folder / FILE, folder):
        with suppress(OSError):
            used = path.stat().st_mtime
            break
    return StoredBank(folder, index, why, pictures.entries, pictures.size, used)


def _empty(folder: Path) -> None:
    prune(folder, 0)
    for name in (FILE, BATCHES):
        (folder / name).unlink(missing_ok=True)
    for part in list(folder.iterdir()):
        with suppress(OSError):  # files that are not ours stay
            part.rmdir()
    (folder / IN_USE).unlink(missing_ok=True)  # from now on, other programs may fill the bank anew
    with suppress(OSError):
        folder.rmdir()


def _forget_scenes(root: Path, banks: Iterable[StoredBank]) -> None:
    """Delete the drawn scenes of which no bank is left; they can be drawn again."""
    if (root / SCENES).is_symlink():
        return
    needed = {bank.index.world_key for bank in banks if bank.index}
    for path in (root / SCENES).glob("*.jsonl"):
        if NAME.fullmatch(path.stem) and path.stem not in needed:
            path.unlink(missing_ok=True)
