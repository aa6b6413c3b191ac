"""One entry of the queue, and the states that it may pass through."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from trex.foundation.errors import InputError, RunError
from trex.foundation.fields import first_problem
from trex.foundation.words import quoted

# of a run: the query file's name, then the entry's id
FOLDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*-([0-9a-f]{16})")
Id = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
Time = Annotated[float, Field(ge=0, le=1e11)]  # Unix seconds; a later one is damage
Kind = Literal["query", "audit", "repair"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
OPEN: tuple[State, ...] = ("queued", "running")  # can be cancelled
ENDED: tuple[State, ...] = ("failed", "cancelled")  # can be retried


@dataclass(frozen=True, slots=True)
class Entry:
    """A query, an audit or a repair that is queued, runs, or has ended.

    `id` is its content key: equal queries have equal ids. `folder` is the run folder's name below the
    runs folder. `attempts` counts the claims that did not end with a release. Times are Unix seconds. `owner`
    leases the entry until `expires`; both are empty unless it is running.
    """

    __pydantic_config__ = ConfigDict(strict=True, revalidate_instances="always")
    id: Id
    folder: Annotated[str, Field(pattern=f"^{FOLDER.pattern}$")]
    source: str
    question: str
    state: State
    priority: int
    attempts: int
    added: Time
    place: int  # among entries added together
    began: Time | None
    ended: Time | None
    owner: str | None
    expires: Time | None
    why: str


ENTRY = TypeAdapter(Entry)


def entry_of(row: sqlite3.Row) -> Entry:
    """The entry in a row of `queue.sqlite`, which may come from elsewhere.

    sqlite3.DataError, which `queue_file` reports as damage, if no version writes such a row.
    """
    columns = [field.name for field in fields(Entry)]
    if row.keys() != columns:
        raise sqlite3.DataError(f"its columns are not {', '.join(columns)}")
    try:
        return ENTRY.validate_python(Entry(*row))
    except ValidationError as error:
        key = first_problem(error).key
        raise sqlite3.DataError(f"an entry's {key} is {row[key]!r:.60}") from error


def run_path(runs: Path, entry: Entry) -> Path:
    """The run folder of an entry; RunError if it is not a plain folder directly below the runs folder."""
    name = entry.folder
    path = runs / name
    if not name or name.startswith(".") or "/" in name or os.path.islink(path):
        raise RunError(
            f"entry {entry.id} names the run folder {name!r}, which is not a folder directly below {runs}; "
            f"rebuild the queue from the run folders: trex queue rebuild --runs {quoted(runs)}"
        )
    return path


def check_states(entries: Sequence[Entry], verb: str, allowed: Sequence[State], fix: str) -> None:
    """Raise InputError for the first entry whose state does not allow the change; `fix` says what to do instead."""
    for entry in entries:
        if entry.state not in allowed:
            raise InputError(
                f"entry {entry.id} is {entry.state}, only {' or '.join(allowed)} entries can be {verb}; {fix}"
            )
