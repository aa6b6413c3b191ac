"""One entry of the queue, and the states that it may pass through."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trex.foundation.errors import InputError, RunError

Kind = Literal["query", "audit"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
OPEN: tuple[State, ...] = ("queued", "running")  # can be cancelled
ENDED: tuple[State, ...] = ("failed", "cancelled")  # can be retried


@dataclass(frozen=True, slots=True)
class Entry:
    """A query or an audit that is queued, runs, or has ended.

    `id` is its content key: equal queries have equal ids. `folder` is the run folder's name below the
    runs folder. `attempts` counts the claims that did not end with a release. Times are Unix seconds. `owner`
    leases the entry until `expires`; both are empty unless it is running.
    """

    id: str
    folder: str
    source: str
    question: str
    state: State
    priority: int
    attempts: int
    added: float
    place: int  # among entries added together
    began: float | None
    ended: float | None
    owner: str | None
    expires: float | None
    why: str


def run_path(runs: Path, entry: Entry) -> Path:
    """The run folder of an entry; RunError if it is not a plain folder directly below the runs folder."""
    name = entry.folder
    path = runs / name
    if not name or name.startswith(".") or "/" in name or os.path.islink(path):
        raise RunError(
            f"entry {entry.id} names the run folder {name!r}, which is not a folder directly below {runs}; "
            f"rebuild the queue from the run folders: trex queue rebuild --runs {runs}"
        )
    return path


def check_states(entries: Sequence[Entry], verb: str, allowed: Sequence[State], fix: str) -> None:
    """Raise InputError for the first entry whose state does not allow the change; `fix` says what to do instead."""
    for entry in entries:
        if entry.state not in allowed:
            raise InputError(
                f"entry {entry.id} is {entry.state}, only {' or '.join(allowed)} entries can be {verb}; {fix}"
            )
