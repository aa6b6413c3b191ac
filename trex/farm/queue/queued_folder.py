"""A run folder in the queue: the query, how it was queued, and marks that outlive the queue file.

`queued.json` holds the query as given, its overrides, and its priority. The first worker that opens the folder
completes it to a run; `failed` and `cancelled` are marks, as `finished` is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from trex.farm.queue.entry import FOLDER, Entry, Id, Kind, State, Time, run_path
from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.files import MIB, read_bytes, write_atomic
from trex.query.schema import Query, Section
from trex.query.toml_file import parse_query
from trex.runs.folder import FINISHED, REPORT
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan

QUEUED = "queued.json"
FAILED = "failed"
CANCELLED = "cancelled"
MAX_PRIORITY = 1_000_000  # priorities range from minus to plus this


class Queued(Section):
    """`queued.json`: the queue entry of this run.

    `text` was read from the file `source`, an absolute path; of an audit it holds the options as JSON, of a
    repair its query.
    """

    format: Literal[1] = 1
    kind: Kind = "query"
    id: Id
    source: Annotated[str, Field(pattern=r"^[^\x00]*$")]
    text: str
    overrides: tuple[str, ...] = ()
    question: str
    priority: Annotated[int, Field(ge=-MAX_PRIORITY, le=MAX_PRIORITY)] = 0
    added: Time
    place: Annotated[int, Field(ge=0, lt=2**31)] = 0


CODEC = Codec(Queued, limit=2 * MIB)  # a query is in it


def read_queued(path: Path) -> Queued:
    """The `queued.json` of a run folder, no link; RunError if it is missing or damaged."""
    queued = CODEC.read(path / QUEUED, "move the folder away and queue the query again", inside=path)
    if queued is None:
        raise RunError(f"{path} was not queued: it has no {QUEUED}")
    return queued


def settings_of(runs: Path, entry: Entry) -> str:
    """The overrides that distinguish members of a sweep, swept keys first; "" if they cannot be read."""
    try:
        return _settings(run_path(runs, entry))
    except RunError:
        return ""


@lru_cache(maxsize=1 << 17)
def _settings(path: Path) -> str:
    """Read once and cached: the folder's name contains the content key of its query."""
    return " ".join(reversed(read_queued(path).overrides))


def queued_folders(runs: Path) -> dict[str, Path]:
    """The run folders of the queue by entry id; ignores a copy under another name."""
    if not runs.is_dir():
        return {}
    with os.scandir(runs) as items:
        named = sorted((match[1], item.path) for item in items if (match := FOLDER.fullmatch(item.name)))
    return {entry_id: Path(path) for entry_id, path in named if is_queued(path)}


def open_queued(path: Path) -> Plan:
    """The plan of a queued run folder, with every value checked again. Renders nothing."""
    return make_plan(queued_query(path), Path(read_queued(path).source).parent)


def queued_query(path: Path) -> Query:
    """The query of a queued folder as given, of an audit one that names the same code; loads nothing that it names.

    A repair names no code.
    """
    queued = read_queued(path)
    if queued.kind == "repair":
        return Query()
    if queued.kind == "audit":
        from trex.farm.queue.audits import audit_options, named_by  # slow to import

        return named_by(audit_options(queued.text, path))
    return parse_query(queued.text, str(path / QUEUED), queued.overrides)


def is_queued(path: str) -> bool:
    """Whether this is a run folder of the queue, and no link to one."""
    return os.path.isfile(f"{path}/{QUEUED}") and not os.path.islink(path)


def to_entry(folder: str, queued: Queued, state: State = "queued", why: str = "") -> Entry:
    """The entry of a run folder, without owner, attempts and times, which the folder does not record."""
    return Entry(
        id=queued.id, folder=folder, source=queued.source, question=queued.question,
        state=state, priority=queued.priority, attempts=0, added=queued.added, place=queued.place,
        began=None, ended=None, owner=None, expires=None, why=why,
    )  # fmt: skip


def entry_from_folder(path: Path) -> Entry:
    """The entry that the files of a run folder describe: done, failed (with the reason), cancelled, or queued.

    A run is done once it has its report, which is written after its last draw.
    """
    queued = read_queued(path)
    names = os.listdir(path)
    if FINISHED in names and REPORT in names:
        return to_entry(path.name, queued, "done")
    if FAILED in names:
        why = read_bytes(path / FAILED, limit=MIB, error=RunError).decode("utf-8", errors="replace").strip()
        return to_entry(path.name, queued, "failed", why)
    return to_entry(path.name, queued, "cancelled" if CANCELLED in names else "queued")


def mark_priority(path: Path, queued: Queued, priority: int) -> None:
    """Store the priority in the run folder."""
    if queued.priority != priority:
        write_atomic(path / QUEUED, CODEC.line(queued.model_copy(update={"priority": priority})))


def mark_failed(path: Path, why: str) -> None:
    """Store in the run folder why it failed; does nothing if the folder has been deleted."""
    if path.is_dir():
        write_atomic(path / FAILED, f"{why}\n".encode())


def mark_cancelled(path: Path) -> None:
    """Store in the run folder that it was cancelled."""
    with suppress(FileNotFoundError):
        os.close(os.open(path / CANCELLED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))


def clear_marks(path: Path) -> None:
    """Delete the marks, so that the run can be claimed again."""
    for mark in (FAILED, CANCELLED):
        (path / mark).unlink(missing_ok=True)
