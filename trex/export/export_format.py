"""Export formats: what a module of this package declares as `FORMAT`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trex.export.items import Exported
from trex.foundation.extensions import declared, named


def _nothing() -> None:
    """The check of a format that needs nothing installed."""


@dataclass(frozen=True)
class ExportFormat:
    """A way to write a data set.

    `write` receives a new, empty folder and the content; the folder is moved to its place after `write` returns.
    `check` raises InputError if a package that the format needs is missing.
    """

    name: str
    write: Callable[[Path, Exported], None]
    check: Callable[[], None] = _nothing


def format_named(name: str) -> ExportFormat:
    """The format of this name; InputError if there is none."""
    return named("format", name, declared("trex.export", "FORMAT", ExportFormat))
