"""A run folder that waits its turn: the query, how it was asked, and marks that outlive the queue file.

`query.toml` is the query as asked, `queued.json` says with which overrides, and how urgent. `run.json` comes when a
worker first opens the run; `failed` and `cancelled` are marks, as `finished` is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from harness.farm.queue_entry import Entry, State
from harness.find import manifest_of
from harness.query import Section
from harness.query_file import parse_query, read_text
from harness.reopen import reopened
from harness.run_folder import FINISHED, QUERY, RunFolder, begin, is_run, open_run, write_atomic
from harness.wiring import Plan, World, make_plan, open_world
from scenes.errors import RunError

QUEUED = "queued.json"
FAILED = "failed"
CANCELLED = "cancelled"


class Queued(Section):
    """`queued.json`: which entry of the queue this run is. `source` is the query file, by its whole path."""

    format: Literal[1] = 1
    id: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    source: str
    overrides: tuple[str, ...] = ()
    question: str
    priority: int = 0
    added: float
    place: int = 0


def read_queued(path: Path) -> Queued:
    """How the query of a run folder was queued; RunError where it was not, or the file is broken."""
    try:
        return Queued.model_validate_json((path / QUEUED).read_bytes())
    except OSError as error:
        raise RunError(f"{path} was not queued: {QUEUED} cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "file"
        raise RunError(
            f"{path / QUEUED} is damaged: {where}: {first['msg']}; move the folder away and add the query again"
        ) from error


def open_queued(path: Path) -> Plan:
    """The query of a run folder that waits, with every word checked once more; nothing is rendered."""
    queued = read_queued(path)
    source = Path(queued.source)
    text = read_text(path / QUERY)
    return make_plan(parse_query(text, str(path / QUERY), queued.overrides), source.parent)


@contextmanager
def opened(path: Path) -> Iterator[tuple[RunFolder, World]]:
    """A run of the queue, locked for this process, with its world: begun now, or gone on with."""
    if is_run(path):
        with open_run(path, for_writing=True) as folder, reopened(folder) as world:
            yield folder, world
        return
    queued = read_queued(path)
    world = open_world(open_queued(path))
    try:
        with begin(path, manifest_of(world, Path(queued.source), queued.overrides)) as folder:
            yield folder, world
    finally:
        world.renderer.close()


def as_entry(path: Path, queued: Queued) -> Entry:
    """The entry that a run folder stands for, by what lies in it; whoever was working on it is not known."""
    state, why = state_of(path)
    return Entry(
        id=queued.id, folder=path.name, source=queued.source, question=queued.question,
        state=state, priority=queued.priority, attempts=0, added=queued.added, place=queued.place,
        began=None, ended=None, owner=None, expires=None, why=why,
    )  # fmt: skip


def state_of(path: Path) -> tuple[State, str]:
    """Finished, failed (with the reason), cancelled, or else waiting."""
    names = {item.name for item in path.iterdir()}
    if FINISHED in names:
        return "done", ""
    if FAILED in names:
        return "failed", (path / FAILED).read_text(encoding="utf-8", errors="replace").strip()
    return ("cancelled" if CANCELLED in names else "queued"), ""


def mark_failed(path: Path, why: str) -> None:
    """Keep in the run folder why it cannot go on; a folder that is gone needs no mark."""
    if path.is_dir():
        write_atomic(path / FAILED, f"{why}\n".encode())


def mark_cancelled(path: Path) -> None:
    """Keep in the run folder that nobody wants it any more."""
    with suppress(FileNotFoundError):
        (path / CANCELLED).touch()


def unmark(path: Path) -> None:
    """The run is wanted again."""
    for mark in (FAILED, CANCELLED):
        (path / mark).unlink(missing_ok=True)
