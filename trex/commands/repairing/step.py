"""One step of `trex repair` in its folder: models and data are loaded and checked, progress is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import note

if TYPE_CHECKING:
    from trex.repair.folder import RepairFolder
    from trex.repair.loaded import Loaded, Progress

Step = Callable[["RepairFolder", "Loaded", "Progress"], None]


def step(place: Path, data: Path | None, run: Step) -> RepairFolder:
    """Carry out a step of the repair in this folder; returns it, still open."""
    from trex.api.models.repair import carried_out

    return carried_out(place, data, run, progress_of)


@contextmanager
def progress_of(place: Path) -> Iterator[Progress]:
    """The display of a step, which says first where it writes; a stop keeps what is done."""
    note(f"writing to {place}")
    with display_until_stopped(f"{place} keeps what is done") as display:
        yield display.show
