"""`trex export`: writes a run's hits as a data set, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trex.export.export_format import format_named
from trex.export.items import read_items
from trex.foundation.files import behind_links, disk_error, scratch_folder
from trex.runs.folder import check_out, open_run


@dataclass(frozen=True)
class ExportOutcome:
    """A written data set: scenes of each split, and the number of scenes whose question has no true answer."""

    out: Path
    scenes: Mapping[str, int]
    unanswered: int


def export(run: Path, form: str, out: Path | None, edits: bool | None) -> ExportOutcome:
    """Write a run's data set to `out` (RUN/export-FORMAT if None), which must be new or empty."""
    chosen = format_named(form)
    chosen.check()
    with open_run(run, for_writing=False) as folder:
        exported = read_items(folder, edits)
    place = out or run / f"export-{form}"
    check_out(place)
    real = behind_links(place)

    def fill(scratch: Path) -> str:
        chosen.write(scratch, exported)
        return real.name

    write_whole(real, fill)
    scenes = {split: len(exported.of(split)) for split in exported.splits}
    return ExportOutcome(place, scenes, sum(item.truth is None for item in exported.items))


def write_whole(place: Path, fill: Callable[[Path], str]) -> Path:
    """Fill a new folder beside `place` and rename it to the name that `fill` returns: a kill leaves all or nothing.

    Raises RunError if the disk refuses, or if a folder of that name holds something.
    """
    scratch = None
    try:
        behind_links(place.parent).mkdir(parents=True, exist_ok=True)
        scratch = scratch_folder(place)
        whole = place.with_name(fill(scratch))
        scratch.rename(whole)  # replaces only an empty folder
        return whole
    except OSError as error:
        raise disk_error(error, place) from error
    finally:
        if scratch is not None and scratch.exists():
            shutil.rmtree(scratch, ignore_errors=True)
