"""What an export format is, and the road by which formats are found: ours, and those of other distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex.export.items import Exported
from trex.foundation.extensions import Road


def _nothing() -> None:
    """Nothing has to be installed."""


@dataclass(frozen=True)
class ExportFormat:
    """A way to write a data set.

    `write` is given a new, empty folder and what is to be written into it; the folder reaches its place only when
    `write` has returned. `check` raises InputError if something that the format needs is not installed.
    """

    name: str
    write: Callable[[Path, Exported], None]
    check: Callable[[], None] = _nothing


FORMATS = Road("format", "trex.export", "FORMAT", "trex.exports", ExportFormat)
