"""`sessions.jsonl`: when a process worked on a run, how long, and how much it rendered; no draw depends on it."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field, TypeAdapter, ValidationError

from trex.foundation.errors import RunError
from trex.foundation.files import is_missing, read_bytes

FILE = "sessions.jsonl"
LIMIT = 1 << 24  # bytes; a session takes 80
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SearchSession:
    """One process's work on a run."""

    began: Annotated[str, Field(max_length=40)]  # ISO 8601, UTC
    seconds: Annotated[float, Field(ge=0, le=1e9)]
    renders: Annotated[int, Field(ge=0, le=1 << 53)]


_SESSION = TypeAdapter(SearchSession)


class Counts(Protocol):
    """Counts the renders of a session."""

    @property
    def renders(self) -> int:
        """Renders since this process started."""
        ...


@contextmanager
def session(folder: Path, counts: Counts) -> Iterator[None]:
    """Record the work done inside, however it ends short of a kill."""
    began, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    try:
        yield
    finally:
        _append(folder / FILE, SearchSession(began, round(time.monotonic() - clock, 3), counts.renders))


def read_sessions(folder: Path) -> list[SearchSession]:
    """The sessions recorded so far; warns about and skips lines that are cut short or hold anything else."""
    path = folder / FILE
    found, damaged = [], []
    for number, line in enumerate(_lines(path), start=1):
        try:
            found.append(_SESSION.validate_json(line, strict=True))
        except (ValidationError, ValueError):
            damaged.append(number)
    if damaged:
        log.warning(
            "%s: %d damaged lines are ignored, the first is line %d",
            path,
            len(damaged),
            damaged[0],
        )
    return found


def _lines(path: Path) -> list[bytes]:
    """The lines of the file; empty if it cannot be read, since timings are not worth an error."""
    try:
        return [line for line in read_bytes(path, limit=LIMIT, error=RunError).split(b"\n") if line.strip()]
    except RunError as error:
        if not is_missing(error):
            log.warning("%s; the duration of the search is unknown", error)
        return []


def _append(path: Path, done: SearchSession) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), os.fdopen(os.open(path, flags, 0o666), "a", encoding="utf-8") as file:  # as above
        file.write(json.dumps(asdict(done)) + "\n")
