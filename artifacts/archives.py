"""Reads foreign zip files: regular files, without passwords, with a bound on their unpacked size."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trex.foundation.errors import InputError
from trex.foundation.files import DATA_LIMIT, MIB, open_regular, shown

MAX_MEMBERS = 100_000
ENCRYPTED = 0x1  # bit of a member's flags
DAMAGE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip file on disk, not unpacked; raises InputError with a description of any fault, also while it is read."""
    with (
        open_regular(path, limit=DATA_LIMIT, error=InputError) as stream,
        _explained(shown(path)),
        zipfile.ZipFile(stream) as archive,
    ):
        _check_members(archive, shown(path))
        yield archive


def unpack_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: BinaryIO, where: str, limit: int
) -> None:
    """Write at most `limit` bytes of a member, whatever its header claims; InputError if it has more."""
    left = limit
    with archive.open(member) as packed:
        while chunk := packed.read(min(MIB, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise InputError(
                    f"{where} unpacks to more than {limit >> 20:,} MiB; this is not the expected file"
                )
            target.write(chunk)


def check_inflation(data: bytes, where: str, *, limit: int) -> None:
    """Raise InputError for a zip with a password, or one that unpacks to more than `limit` bytes in total.

    The sizes are those in its directory: both zipfile and torch stop there, whatever data follow.
    """
    with _explained(where), zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_members(archive, where)
        total = sum(member.file_size for member in archive.infolist())
    if total > limit:
        raise InputError(
            f"{where} unpacks to {total >> 20:,} MiB, more than the limit of {limit >> 20:,} MiB; get the file again"
        )


def _check_members(archive: zipfile.ZipFile, where: str) -> None:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise InputError(
            f"{where} is a zip of {len(members):,} files, more than the limit of {MAX_MEMBERS:,}"
        )
    locked = next((member.filename for member in members if member.flag_bits & ENCRYPTED), None)
    if locked is not None:
        raise InputError(
            f"{where} is encrypted ({locked[:80]!r}); unpack the zip yourself and give the folder"
        )


@contextmanager
def _explained(where: str) -> Iterator[None]:
    try:
        yield
    except DAMAGE_ERRORS as problem:
        raise InputError(f"{where} is damaged or not a zip file ({problem}); get it again") from problem
