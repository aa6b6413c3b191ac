"""A log of lines with a chained checksum for each: reveals any line that was changed, lost or doubled.

`NAME.check` has one line for each line of the log: the first 32 hexadecimal digits of the sha256 of the previous
checksum followed by the line; before the first comes the seal of what the lines belong to. The checksums therefore
depend on seal and lines alone, not on the process that writes them. They reach the disk before their lines: a kill or
a power cut can leave a checksum without a line, never a line without its checksum.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import RunError
from trex.foundation.files import disk_error, open_inside, read_bytes, write_atomic

DIGITS = 32


@dataclass(frozen=True)
class CheckedLines:
    """The whole lines of a log, each with its newline, and the number of leading lines whose checksums are right."""

    lines: tuple[bytes, ...]
    sound: int


class CheckedLog:
    """A log with its checksums, open for appending; opening it cuts off what follows `lines`, all of them sound.

    The chain begins with `before`.
    """

    def __init__(self, path: Path, lines: Sequence[bytes], before: str = "") -> None:
        sums = list(chained(lines, before))
        self._last = sums[-1] if sums else before
        check = check_path(path)
        write_atomic(check, _text(sums))
        self._checks = _Appended(check, len(_text(sums)))
        self._lines = _Appended(path, sum(map(len, lines)))

    def append(self, lines: Sequence[bytes]) -> None:
        """Append all lines, each with its newline, synced to the disk; or none of them, and raise OSError."""
        if not lines:
            return
        sums = list(chained(lines, self._last))
        self._checks.append(_text(sums))
        try:
            self._lines.append(b"".join(lines))
        except OSError:
            self._checks.cut_last()
            raise
        self._last = sums[-1]

    def close(self) -> None:
        """Close the files; the log cannot be used afterwards."""
        self._checks.close()
        self._lines.close()


class _Appended:
    """A file that grows by whole pieces from `end` bytes on; opening it truncates it there and follows no link."""

    def __init__(self, path: Path, end: int) -> None:
        self._end, self._before = end, end
        try:
            self._file = open_inside(path.parent, [path.name], os.O_RDWR | os.O_CREAT)
            if not stat.S_ISREG(os.fstat(self._file).st_mode):
                raise RunError(f"{path} is not a regular file; move it away")
            os.ftruncate(self._file, end)
        except OSError as error:
            raise disk_error(error, path) from error

    def append(self, data: bytes) -> None:
        """Append the whole piece, synced to the disk, or nothing and raise OSError."""
        try:
            self._write(data)
            os.fsync(self._file)
        except OSError:
            self._cut()
            raise
        self._before, self._end = self._end, self._end + len(data)

    def cut_last(self) -> None:
        """Take the last piece back."""
        self._end = self._before
        self._cut()

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes) -> None:
        at = self._end
        while data:
            count = os.pwrite(self._file, data, at)
            data, at = data[count:], at + count

    def _cut(self) -> None:
        with suppress(OSError):  # shortening needs no space; if it fails, the next opening cuts the file
            os.ftruncate(self._file, self._end)


def check_path(path: Path) -> Path:
    """The path of a log's checksums."""
    return path.with_suffix(".check")


def chained(lines: Iterable[bytes], before: str = "") -> Iterator[str]:
    """The checksum of each line, chained from the previous one; `before` comes before the first."""
    for line in lines:
        before = hashlib.sha256(before.encode() + line).hexdigest()[:DIGITS]
        yield before


def read_checked(path: Path, before: str = "") -> CheckedLines:
    """The whole lines of the log at this path; leaves out a half-written last line and follows no link.

    `before`: what its chain of checksums begins with.
    """
    if not path.is_symlink() and not path.exists():
        return CheckedLines((), 0)
    lines = whole_lines(read_bytes(path, error=RunError, inside=path.parent))
    check = check_path(path)
    if not check.is_symlink() and not check.exists():
        return CheckedLines(lines, 0)
    recorded = [line[:-1].decode("ascii", "replace") for line in whole_lines(
        read_bytes(check, error=RunError, inside=path.parent)
    )]  # fmt: skip
    return CheckedLines(lines, _sound(lines, recorded, before))


def intact_lines(path: Path) -> int:
    """The number of lines whose checksums agree with each other, whatever the first of these begins with."""
    lines, check = read_checked(path).lines, check_path(path)
    if not lines or not check.is_file():
        return len(lines)
    recorded = [
        line[:-1].decode("ascii", "replace") for line in whole_lines(read_bytes(check, error=RunError))
    ]
    return 1 + _sound(lines[1:], recorded[1:], recorded[0]) if recorded else 0


def set_aside(path: Path) -> Path:
    """Copy a damaged log to a new name beside it, "draws.damaged-1.jsonl", and return that."""
    aside = next(
        place
        for place in (path.with_name(f"{path.stem}.damaged-{n}{path.suffix}") for n in range(1, 10_000))
        if not os.path.lexists(place)
    )
    write_atomic(aside, read_bytes(path, error=RunError, inside=path.parent))
    return aside


def whole_lines(data: bytes) -> tuple[bytes, ...]:
    """The lines that end with a newline, newline included."""
    return tuple(line + b"\n" for line in data.split(b"\n")[:-1])


def _text(sums: Sequence[str]) -> bytes:
    return "".join(f"{text}\n" for text in sums).encode()


def _sound(lines: Sequence[bytes], recorded: Sequence[str], before: str) -> int:
    """The number of lines up to the last one whose checksum is right, which vouches for all before it."""
    right = [
        n
        for n, (now, then) in enumerate(zip(chained(lines, before), recorded, strict=False), start=1)
        if now == then
    ]
    return right[-1] if right else 0
