"""Removes ended entries from the queue and, if requested, their run folders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from trex.farm.queue.entry import Entry, State
from trex.farm.queue.queue import NotRemoved, entries, remove
from trex.farm.queue.queued_folder import QUEUED
from trex.foundation.errors import RunError
from trex.foundation.locked_folder import make_owned, sweep
from trex.runs.folder import is_run, open_run

SCRATCH = ".cleaning-"


def clean(runs: Path, states: Sequence[State], *, delete_runs: bool) -> tuple[list[Entry], list[str]]:
    """Remove all entries in these states, except those that were queued again meanwhile.

    The removed entries, and why the run folders of others could not be deleted.

    A run folder in use stays, and so does its entry. First deletes what killed processes left of run folders.
    """
    sweep(SCRATCH, runs)
    removed, not_deleted = [], []
    for entry in entries(runs, states):
        try:
            if remove(runs, entry, _delete if delete_runs else None):
                removed.append(entry)
        except NotRemoved as error:
            not_deleted.append(str(error))
    return removed, not_deleted


def _delete(path: Path) -> None:
    """Delete a run folder of the queue with everything in it."""
    if not path.exists():
        return
    if not (path / QUEUED).is_file():
        raise RunError(f"{path} was not deleted: it has no {QUEUED}, so it is not a run folder of the queue")
    if not is_run(path):
        _delete_at_once(path)
        return
    with open_run(path, for_writing=True):  # holds the lock: nothing else writes here
        _delete_at_once(path)


def _delete_at_once(path: Path) -> None:
    """Move the folder out of sight before deleting it: after a kill it is whole or gone, never without its query."""
    scratch = make_owned(SCRATCH, path.parent)
    try:
        shutil.rmtree(path.rename(scratch.path / path.name))
    finally:
        scratch.remove()
