"""All that `trex top` and `trex serve` show of a runs folder at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import TEXT_LIMIT, read_bytes
from trex.foundation.json_fields import finite, mapping
from trex.foundation.parse import parse_json
from trex.monitor.status import FarmStatus, RunStatus, read_farm_statuses, read_run_status
from trex.queue import queue
from trex.queue.entry import Entry, State, run_path
from trex.queue.queued_folder import settings_of
from trex.runs.folder import REPORT

SILENT_S = 20.0  # after so long without a word, a farm or a run does not count as live
FINDINGS = "findings.json"


@dataclass(frozen=True)
class Row:
    """An entry with what was set in its query, where its run stands, how it ended ("" if it has not)."""

    entry: Entry
    settings: str
    status: RunStatus | None
    ending: str
    best: float | None  # confidence
    has_report: bool


@dataclass(frozen=True)
class Overview:
    """Counts of every state, the rows that are shown, and who works."""

    now: float
    counts: Mapping[str, int]
    running: tuple[Row, ...]
    waiting: tuple[Row, ...]
    ended: tuple[Row, ...]
    farms: tuple[FarmStatus, ...]

    @property
    def workers(self) -> int:
        """Of all farms that are live."""
        return sum(len(farm.workers) for farm in self.farms)

    @property
    def renders_per_s(self) -> float:
        """Of all running queries that tell of themselves."""
        told = [live(row.status, self.now) for row in self.running]
        return sum(status.renders_per_s for status in told if status)


def overview(runs: Path, now: float, shown: int) -> Overview:
    """What runs, the next `shown` that wait, and the last `shown` that ended."""
    ended: tuple[State, ...] = ("done", "failed", "cancelled")
    return Overview(
        now=now,
        counts=queue.counts(runs),
        running=rows(runs, queue.entries(runs, ["running"])),
        waiting=rows(runs, queue.entries(runs, ["queued"], shown)),
        ended=rows(runs, queue.entries(runs, ended, shown, order=queue.LATEST)),
        farms=tuple(farm for farm in read_farm_statuses(runs) if now - farm.updated < SILENT_S),
    )


def overview_json(seen: Overview) -> dict[str, object]:
    """The overview for machines."""
    return {**asdict(seen), "workers": seen.workers, "renders_per_s": seen.renders_per_s}


def rows(runs: Path, entries: Sequence[Entry]) -> tuple[Row, ...]:
    """The entries with what their run folders tell."""
    return tuple(_row(runs, entry) for entry in entries)


def live(status: RunStatus | None, now: float) -> RunStatus | None:
    """The status, if it was told just now."""
    return status if status is not None and now - status.updated < SILENT_S else None


def _row(runs: Path, entry: Entry) -> Row:
    try:
        path = run_path(runs, entry)
    except RunError:  # the queue names a place that is no run folder: nothing of it is read
        return Row(entry, "", None, "", None, has_report=False)
    status = read_run_status(path)
    ending, best = ending_of(path)
    if best is None and status is not None:
        best = status.search.best
    return Row(entry, settings_of(runs, entry), status, ending, best, (path / REPORT).is_file())


def ending_of(path: Path) -> tuple[str, float | None]:
    """How the run of a folder ended ("" if it has not) and its best confidence."""
    file = path / FINDINGS
    try:
        stat = file.stat()
        return _read_findings(file, stat.st_mtime_ns, stat.st_size)
    except (OSError, TrexError, KeyError):
        return "", None


@lru_cache(maxsize=4096)
def _read_findings(file: Path, _changed: int, _size: int) -> tuple[str, float]:
    """How a run ended and its best confidence; read once as long as the file stays the same."""
    data = mapping(parse_json(read_bytes(file, limit=TEXT_LIMIT), file.name), file.name)
    return str(data["ending"]), finite(data["best_confidence"], "best_confidence")
