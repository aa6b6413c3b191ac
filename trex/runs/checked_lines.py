"""A log of lines with a chained checksum for each: reveals any line that was changed, lost or doubled.

`NAME.check` has one line for each line of the log: the first 32 hexadecimal digits of the sha256 of the previous
checksum followed by the line. The checksums therefore depend on the lines alone, not on the process that writes them.
They reach the disk before their lines: a kill or a power cut can leave a checksum without a line, never a line
without its checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import RunError
from trex.foundation.files import read_bytes

DIGITS = 32


@dataclass(frozen=True)
class CheckedLines:
    """The whole lines of a log, each with its newline, and the number of leading lines whose checksums are right.

    `is_checked` is False for a log without checksums; all its lines count as sound.
    """

    lines: tuple[bytes, ...]
    sound: int
    is_checked: bool


def check_path(path: Path) -> Path:
    """The path of a log's checksums."""
    return path.with_suffix(".check")


def chained(lines: Iterable[bytes], before: str = "") -> Iterator[str]:
    """The checksum of each line, chained from the previous one; "" comes before the first."""
    for line in lines:
        before = hashlib.sha256(before.encode() + line).hexdigest()[:DIGITS]
        yield before


def read_checked(path: Path) -> CheckedLines:
    """The whole lines of the log at this path; leaves out a half-written last line and follows no link."""
    if not path.is_symlink() and not path.exists():
        return CheckedLines((), 0, is_checked=True)
    lines = whole_lines(read_bytes(path, error=RunError, inside=path.parent))
    check = check_path(path)
    if not check.is_symlink() and not check.exists():
        return CheckedLines(lines, len(lines), is_checked=not lines)
    recorded = [line[:-1].decode("ascii", "replace") for line in whole_lines(
        read_bytes(check, error=RunError, inside=path.parent)
    )]  # fmt: skip
    return CheckedLines(lines, _sound(lines, recorded), is_checked=True)


def whole_lines(data: bytes) -> tuple[bytes, ...]:
    """The lines that end with a newline, newline included."""
    return tuple(line + b"\n" for line in data.split(b"\n")[:-1])


def _sound(lines: Sequence[bytes], recorded: Sequence[str]) -> int:
    """The number of lines up to the last one whose checksum is right, which vouches for all before it."""
    right = [
        n for n, (now, then) in enumerate(zip(chained(lines), recorded, strict=False), start=1) if now == then
    ]
    return right[-1] if right else 0
