"""Where a farm stands, told by files that whoever carries the work out rewrites every second or so.

`RUN/status.json` tells of a run, `RUNS/.farm/OWNER.json` of one `trex work` and its workers. No draw depends on them:
a file that is missing or cut says nothing, and is rewritten soon.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import read_bytes, write_atomic
from trex.search.progress import Status

RUN_STATUS = "status.json"
FARM = ".farm"


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands: `search` counts, renders a second lately, workers on it, seconds left at most (or None)."""

    search: Status
    renders_per_s: float
    workers: int
    left_s: float | None
    updated: float  # Unix time


@dataclass(frozen=True)
class WorkerStatus:
    """A worker: where it runs, what it works on ("" for nothing), and what it has done since it started."""

    name: str
    host: str
    entry: str  # id of the queue's entry
    segments: int
    renders: int
    restarts: int
    memory_mib: float
    seen: float  # Unix time of its last sign of life


@dataclass(frozen=True)
class FarmStatus:
    """One `trex work`: its workers, and the segments whose worker was lost, which were done again."""

    owner: str
    host: str
    pid: int
    began: float
    updated: float
    lost_segments: int
    workers: tuple[WorkerStatus, ...]


RUN = TypeAdapter(RunStatus)
WORK = TypeAdapter(FarmStatus)
STATUS_LIMIT = 1 << 20  # bytes; one has a few hundred


def write_run_status(run: Path, status: RunStatus) -> None:
    """Renew `status.json` of a run folder."""
    _write(run / RUN_STATUS, asdict(status))


def write_farm_status(runs: Path, status: FarmStatus) -> None:
    """Renew the file of one `trex work` below the runs folder."""
    with suppress(OSError):
        (runs / FARM).mkdir(exist_ok=True)
    _write(_farm_file(runs, status.owner), asdict(status))


def remove_farm_status(runs: Path, owner: str) -> None:
    """A `trex work` that ends is no longer shown."""
    with suppress(OSError):  # where the folder cannot be written to, the file goes stale by itself
        _farm_file(runs, owner).unlink(missing_ok=True)


def read_run_status(run: Path) -> RunStatus | None:
    """Where the run stands; None where nothing is known."""
    try:
        return RUN.validate_json(read_bytes(run / RUN_STATUS, limit=STATUS_LIMIT, error=RunError))
    except (RunError, ValidationError):
        return None


def read_farm_statuses(runs: Path) -> list[FarmStatus]:
    """Every `trex work` that tells of itself, also one that was killed: see `updated`."""
    found = []
    for path in sorted((runs / FARM).glob("*.json")):
        try:
            found.append(WORK.validate_json(read_bytes(path, limit=STATUS_LIMIT, error=RunError)))
        except (RunError, ValidationError):
            continue
    return found


def _farm_file(runs: Path, owner: str) -> Path:
    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in owner)
    return runs / FARM / f"{name}.json"


def _write(path: Path, fields: dict[str, object]) -> None:
    """Not synced, since it is renewed in a moment, and worth no error."""
    with suppress(TrexError, OSError):
        write_atomic(path, (json.dumps(fields) + "\n").encode(), is_precious=False)
