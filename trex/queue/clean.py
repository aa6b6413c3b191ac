"""Taking what has ended out of the queue, and, where that is asked for, the run folders too."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.errors import RunError
from trex.queue.entry import Entry, State, run_path
from trex.queue.queue import entries, remove
from trex.queue.queued_folder import QUEUED
from trex.runs.folder import is_run, open_run


@dataclass(frozen=True)
class Cleaned:
    """The entries taken out, and those whose run folder could not be deleted, with the reason."""

    entries: tuple[Entry, ...]
    kept: tuple[str, ...]


def clean(runs: Path, states: Sequence[State], *, delete_runs: bool) -> Cleaned:
    """Take all entries in these states out; a run folder that is in use stays, and so does its entry."""
    ended = entries(runs, states)
    kept = []
    if delete_runs:
        for one in tuple(ended):
            try:
                _delete(run_path(runs, one))
            except (RunError, OSError) as error:
                kept.append(str(error))
                ended.remove(one)
    remove(runs, [one.id for one in ended])
    return Cleaned(tuple(ended), tuple(kept))


def _delete(path: Path) -> None:
    """A run folder of the queue and all in it."""
    if not path.exists():
        return
    if not (path / QUEUED).is_file():
        raise RunError(f"{path} is not deleted: it holds no {QUEUED}, so it is no run folder of the queue")
    if not is_run(path):
        shutil.rmtree(path)
        return
    with open_run(path, for_writing=True):  # nobody is writing into it
        shutil.rmtree(path)
