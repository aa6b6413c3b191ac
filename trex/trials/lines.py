"""A log of answers that survives a kill: checksummed lines, appended and synced, read back when the work is resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, TypeVar

from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.files import Closing, disk_error
from trex.runs.checked_lines import CheckedLog, read_checked

T = TypeVar("T")
AGAIN = "delete the folder and start again"


class Rows(Generic[T]):
    """A log in memory."""

    def __init__(self, values: Sequence[T] = ()) -> None:
        self.values = list(values)

    def append(self, values: list[T]) -> None:
        """Append all values."""
        self.values += values


class Lines(Closing, Rows[T]):
    """The values of a log, and its end; RunError if a line differs from what was written.

    With `drops_damage` such a line is cut off instead, with all that follow: for answers that can be asked for again.
    """

    def __init__(self, path: Path, codec: Codec[T], *, drops_damage: bool = False) -> None:
        self._path, self._codec = path, codec
        lines = read_checked(path).lines[: read_checked(path).sound] if drops_damage else _sound(path)
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
    """The values of a log that is only read; RunError if a line differs from what was written."""
    return _parsed(path, codec, _sound(path))


def _sound(path: Path) -> Sequence[bytes]:
    found = read_checked(path)
    if found.sound < len(found.lines):
        raise RunError(f"{path}, line {found.sound + 1}, was changed; {AGAIN}")
    return found.lines


def _parsed(path: Path, codec: Codec[T], lines: Sequence[bytes]) -> list[T]:
    return [
        codec.parse(line.decode(errors="replace"), f"{path}, line {number}", AGAIN)
        for number, line in enumerate(lines, start=1)
    ]
