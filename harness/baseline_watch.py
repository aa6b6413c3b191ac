"""How a baseline tells where it stands."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Watch:
    """A bar for each source, on standard error."""

    def __init__(self, *, is_silent: bool) -> None:
        columns = (
            TextColumn("pictures"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=Console(stderr=True), disable=is_silent)
        self._tasks: dict[str, TaskID] = {}

    def update(self, source: str, done: int, total: int) -> None:
        """`done` of `total` pictures of a source have been looked at."""
        if source not in self._tasks:
            self._tasks[source] = self._progress.add_task(source, total=total)
        self._progress.update(self._tasks[source], completed=done)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
