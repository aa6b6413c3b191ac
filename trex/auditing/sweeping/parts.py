"""Batches of a sweep that several programs share, each kept as a part of its own until the sweep's log takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from trex.auditing.sweeping.records import EXAMINED, Examined
from trex.bank.bank import BATCH
from trex.bank.store import Batches
from trex.foundation.files import make_folder
from trex.runs.checked_lines import check_path
from trex.trials.lines import Lines

PARTS = "parts"
PATIENCE_S = 600.0  # a batch is kept as a whole, and a model behind a service may take long for one
Examine = Callable[[range], list[Examined]]


def batch_range(batch: int, members: range) -> range:
    """The numbers of the scenes of a batch in a sweep of these members."""
    return members[batch * BATCH : (batch + 1) * BATCH]


def n_batches(n: int) -> int:
    """The number of batches in a sweep of n scenes."""
    return -(-n // BATCH)


class Parts:
    """Batches in `FOLDER/NAME`, each locked by the program that works on it; a killed program's locks are freed."""

    def __init__(self, folder: Path, name: str = PARTS) -> None:
        self._folder = folder / name

    def __enter__(self) -> Self:
        make_folder(self._folder)
        self._locks = Batches(self._folder).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._locks.__exit__(kind, error, trace)

    @contextmanager
    def taken(self, batch: int) -> Iterator[bool]:
        """Whether this program holds the batch; False while another works on it."""
        is_taken = self._locks.take(batch)
        try:
            yield is_taken
        finally:
            if is_taken:
                self._locks.free(batch)

    @contextmanager
    def waited_for(self, batch: int, what: str) -> Iterator[bool]:
        """Whether this program holds the batch, once another has ended; False if that one is suspended or stuck."""
        is_taken = self._locks.wait(batch, what, lambda: self._size(batch), PATIENCE_S)
        try:
            yield is_taken
        finally:
            if is_taken:
                self._locks.free(batch)

    def complete(self, batch: int, numbers: range, examine: Examine) -> bool:
        """Examine and keep what is missing of a batch that is taken; False if nothing is."""
        with Lines(self._path(batch), EXAMINED) as part:
            missing = numbers[len(part.values) :]
            if missing:
                part.append(examine(missing))
            return bool(missing)

    def values(self, batch: int) -> Sequence[Examined]:
        """What is kept of a batch that is taken."""
        if not self._path(batch).exists():
            return ()
        with Lines(self._path(batch), EXAMINED) as part:
            return tuple(part.values)

    def drop(self, batch: int) -> None:
        """Delete the part of a batch that the log has taken."""
        for path in (self._path(batch), check_path(self._path(batch))):
            with suppress(FileNotFoundError):
                path.unlink()

    def clear(self) -> None:
        """Delete all parts: the log has them."""
        for path in self._folder.glob("*.jsonl"):
            if path.stem.isdecimal():
                self.drop(int(path.stem))

    def _size(self, batch: int) -> int:
        try:
            return self._path(batch).stat().st_size
        except FileNotFoundError:
            return 0

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch}.jsonl"
