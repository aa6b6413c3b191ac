"""`draws.jsonl`: appended and synced step by step; after a kill at any moment the whole lines are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from foundation.errors import RunError
from foundation.files import disk_error
from harness.records import Record, from_line, to_line


class DrawLog:
    """The draws of a run, open for appending; opening cuts a half-written last line off."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            self._end = self._cut_to_whole_lines()
        except OSError as error:
            raise disk_error(error, path) from error

    def append(self, records: Sequence[Record]) -> None:
        """All records, synced to the disk, or none and an error."""
        data = "".join(to_line(record) for record in records).encode()
        try:
            self._write(data)
            os.fsync(self._file)
        except OSError as error:
            self._restore()
            raise disk_error(error, self._path) from error
        self._end += len(data)

    def close(self) -> None:
        """Close the file; the log cannot be used afterwards."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> DrawLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, data: bytes) -> None:
        at = self._end
        while data:
            count = os.pwrite(self._file, data, at)
            data, at = data[count:], at + count

    def _restore(self) -> None:
        """Cut what a failed write left; shortening a file needs no space."""
        with suppress(OSError):  # the next opening cuts it
            os.ftruncate(self._file, self._end)

    def _cut_to_whole_lines(self) -> int:
        data = self._path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.ftruncate(self._file, end)
        return end


def read_draws(path: Path) -> list[Record]:
    """All whole lines of a log, without a half-written last line; RunError for a broken line elsewhere."""
    if not path.exists():
        return []
    data = path.read_bytes()
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(from_line(line.decode()))
        except (RunError, UnicodeDecodeError) as error:
            raise RunError(
                f"{path}, line {number}: {error}; cut the file before that line, then: trex resume {path.parent}"
            ) from error
    return records
