"""A log of answers that survives a kill: checksummed lines, appended and synced, read back when the work is resumed.

All answers can be asked for again. So a line that was changed costs it and those behind it, and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from trex.foundation.codec import Codec
from trex.foundation.files import Closing, disk_error
from trex.runs.checked_lines import CheckedLines, CheckedLog, read_checked, set_aside

T = TypeVar("T")
AGAIN = "delete this file and give the command again"
log = logging.getLogger(__name__)


class Rows(Generic[T]):
    """A log in memory."""

    def __init__(self, values: Sequence[T] = ()) -> None:
        self.values = list(values)

    def append(self, values: list[T]) -> None:
        """Append all values."""
        self.values += values


class Lines(Closing, Rows[T]):
    """The values of a log, and its end; one with a changed line is set aside, and the lines before it are kept."""

    def __init__(self, path: Path, codec: Codec[T]) -> None:
        self._path, self._codec = path, codec
        found = read_checked(path)
        if _is_damaged(found):
            log.warning(
                "%s is %s now; what follows is asked for again", _damage(path, found), set_aside(path).name
            )
        lines = found.lines[: found.sound]
        super().__init__(_parsed(path, codec, lines))
        self._log = CheckedLog(path, lines)

    def append(self, values: list[T]) -> None:
        """Append all values, synced to the disk, or none and raise an error."""
        try:
            self._log.append([self._codec.line(value) for value in values])
        except OSError as error:
            raise disk_error(error, self._path) from error
        super().append(values)

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def read_lines(path: Path, codec: Codec[T]) -> list[T]:
    """The values of a log that is only read, those before a line that was changed."""
    found = read_checked(path)
    if _is_damaged(found):
        _warn(f"{_damage(path, found)} is read up to there")
    return _parsed(path, codec, found.lines[: found.sound])


@cache
def _warn(text: str) -> None:
    """Once, however often the file is read."""
    log.warning(text)


def _is_damaged(found: CheckedLines) -> bool:
    return found.sound < len(found.lines)


def _damage(path: Path, found: CheckedLines) -> str:
    return f"line {found.sound + 1} of {path} was changed: the file"


def _parsed(path: Path, codec: Codec[T], lines: Sequence[bytes]) -> list[T]:
    return [
        codec.parse(line.decode(errors="replace"), f"{path}, line {number}", AGAIN)
        for number, line in enumerate(lines, start=1)
    ]
