"""`sessions.jsonl`: when a run was worked on, how long, and how much it rendered; no draw depends on it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

FILE = "sessions.jsonl"


@dataclass(frozen=True)
class Session:
    """One process's work on a run."""

    began: str  # ISO 8601, UTC
    seconds: float
    renders: int


class Counts(Protocol):
    """Whoever knows how many renders a session has made."""

    @property
    def renders(self) -> int:
        """Renders since this process began."""
        ...


@contextmanager
def session(folder: Path, counts: Counts) -> Iterator[None]:
    """Notes the work done inside, however it ends short of a kill."""
    began, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    try:
        yield
    finally:
        _append(folder / FILE, Session(began, round(time.monotonic() - clock, 3), counts.renders))


def read_sessions(folder: Path) -> list[Session]:
    """The sessions noted so far; a line cut by a kill is left out."""
    path = folder / FILE
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(Session(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def _append(path: Path, done: Session) -> None:
    with suppress(OSError), path.open("a", encoding="utf-8") as file:  # worth no error
        file.write(json.dumps(asdict(done)) + "\n")
