"""A snapshot of a runs folder for `trex queue watch` and `trex queue serve`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from trex.farm.queue import queue
from trex.farm.queue.entry import Entry, State, run_path
from trex.farm.queue.queued_folder import settings_of
from trex.farm.status import FarmStatus, RunStatus, read_farm_statuses, read_run_status
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import TEXT_LIMIT, read_bytes
from trex.foundation.json_fields import finite, mapping
from trex.foundation.parse import parse_json
from trex.runs.folder import FINDINGS, REPORT
from trex.search.progress import PHASES

SILENT_S = (
    20.0  # a farm or run is not live if its last update is this long ago, or ahead: a clock was set back
)


@dataclass(frozen=True)
class Row:
    """An entry, its query's overrides, its run's progress, and how it ended ("" if it has not)."""

    entry: Entry
    settings: str
    status: RunStatus | None
    ending: str
    best: float | None  # confidence
    has_report: bool


@dataclass(frozen=True)
class Overview:
    """The number of entries in each state, the rows on display, and the farms."""

    now: float
    counts: Mapping[str, int]
    running: tuple[Row, ...]
    waiting: tuple[Row, ...]
    ended: tuple[Row, ...]
    farms: tuple[FarmStatus, ...]

    @property
    def workers(self) -> int:
        """The number of workers of all live farms."""
        return sum(len(farm.workers) for farm in self.farms)

    @property
    def renders_per_s(self) -> float:
        """The total rate of all running queries that report one."""
        described = [live(row.status, self.now) for row in self.running]
        return sum(status.renders_per_s for status in described if status)


def overview(runs: Path, now: float, shown: int) -> Overview:
    """A snapshot: running entries, the next `shown` queued ones, and the last `shown` ended ones."""
    ended: tuple[State, ...] = ("done", "failed", "cancelled")
    return Overview(
        now=now,
        counts=queue.counts(runs),
        running=rows(runs, queue.entries(runs, ["running"])),
        waiting=rows(runs, queue.entries(runs, ["queued"], shown)),
        ended=rows(runs, queue.entries(runs, ended, shown, order=queue.LATEST)),
        farms=tuple(farm for farm in read_farm_statuses(runs) if _is_recent(farm.updated, now)),
    )


def overview_json(snapshot: Overview) -> dict[str, object]:
    """The snapshot as JSON."""
    return {**asdict(snapshot), "workers": snapshot.workers, "renders_per_s": snapshot.renders_per_s}


def rows(runs: Path, entries: Sequence[Entry]) -> tuple[Row, ...]:
    """The entries with the information in their run folders."""
    return tuple(_row(runs, entry) for entry in entries)


def live(status: RunStatus | None, now: float) -> RunStatus | None:
    """The status if it is recent, else None."""
    return status if status is not None and _is_recent(status.updated, now) else None


def _is_recent(updated: float, now: float) -> bool:
    return abs(now - updated) < SILENT_S


def _row(runs: Path, entry: Entry) -> Row:
    try:
        path = run_path(runs, entry)
    except RunError:  # the entry's folder is not a run folder: none of it is read
        return Row(entry, "", None, "", None, has_report=False)
    status = read_run_status(path)
    ending, best = ending_of(path)
    search = None if status is None else status.search
    if best is None and search is not None and search.phase in PHASES and search.renders:  # an audit has none
        best = search.best
    return Row(entry, settings_of(runs, entry), status, ending, best, (path / REPORT).is_file())


def ending_of(path: Path) -> tuple[str, float | None]:
    """How a folder's run ended ("" if it has not) and its best confidence."""
    file = path / FINDINGS
    try:
        stat = file.stat()
        return _read_findings(file, stat.st_mtime_ns, stat.st_size)
    except (OSError, TrexError, KeyError):
        return "", None


@lru_cache(maxsize=4096)
def _read_findings(file: Path, _changed: int, _size: int) -> tuple[str, float]:
    """How a run ended and its best confidence; cached until the file changes."""
    data = mapping(parse_json(read_bytes(file, limit=TEXT_LIMIT), file.name), file.name)
    return str(data["ending"]), finite(data["best_confidence"], "best_confidence")
