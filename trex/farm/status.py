"""Status files of a farm and its runs, which the process that does the work rewrites about every second.

`RUN/status.json` describes a run, `RUNS/.farm/OWNER.json` one `queue run` and its workers. No draw depends on them:
a missing or truncated file counts as no status, and is soon rewritten.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from trex.foundation.codec import Codec
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import MIB, write_atomic
from trex.foundation.parse import numbers_in
from trex.search.progress import Status

RUN_STATUS = "status.json"
FARM = ".farm"
S = TypeVar("S", "RunStatus", "FarmStatus")


@dataclass(frozen=True)
class RunStatus:
    """A run's progress: counts, recent renders per second, its workers, and the most seconds left (or None)."""

    search: Status
    renders_per_s: float
    workers: int
    left_s: float | None
    updated: float  # Unix time


@dataclass(frozen=True)
class WorkerStatus:
    """A worker: its location, its task ("" if idle), and its statistics since it started."""

    name: str
    host: str
    entry: str  # id of its queue entry
    segments: int
    renders: int
    restarts: int
    memory_mib: float
    seen: float  # Unix time of its last sign of life

    @property
    def place(self) -> str:
        """Its place in the pool, which its successors keep: the name without the number of restarts, if it has one."""
        return self.name.removesuffix(f"-{self.restarts}")


@dataclass(frozen=True)
class FarmStatus:
    """One `trex queue run`: its workers, and the number of tasks that were repeated because their worker was lost."""

    owner: str
    host: str
    pid: int
    began: float
    updated: float
    lost_segments: int
    workers: tuple[WorkerStatus, ...]


RUN, WORK = Codec(RunStatus, limit=MIB), Codec(FarmStatus, limit=MIB)  # a usual file has a few hundred bytes
MAX_NUMBER = 1e12  # of any number: counts, seconds, Unix times, MiB


def write_run_status(run: Path, status: RunStatus) -> None:
    """Rewrite `status.json` of a run folder."""
    _write(run / RUN_STATUS, RUN.text(status))


def write_farm_status(runs: Path, status: FarmStatus) -> None:
    """Rewrite the status file of one `trex queue run` below the runs folder."""
    with suppress(OSError):
        (runs / FARM).mkdir(exist_ok=True)
    _write(_farm_file(runs, status.owner), WORK.text(status))


def remove_farm_status(runs: Path, owner: str) -> None:
    """Delete the status file of a `trex queue run` that ends."""
    with suppress(OSError):  # in a folder that is not writable, the file simply goes stale
        _farm_file(runs, owner).unlink(missing_ok=True)


def read_run_status(run: Path) -> RunStatus | None:
    """The run's last status, or None."""
    return _read(run / RUN_STATUS, RUN)


def read_farm_statuses(runs: Path) -> list[FarmStatus]:
    """The status of every `trex queue run`. Killed ones leave theirs behind: check `updated`."""
    found = (_read(path, WORK) for path in sorted((runs / FARM).glob("*.json")))
    return [status for status in found if status is not None]


def _read(path: Path, codec: Codec[S]) -> S | None:
    """The status in a file; None if it holds none, or a number that no page could show."""
    with suppress(RunError):
        return codec.read(path, "it is soon rewritten", _check_numbers)
    return None


def _check_numbers(status: RunStatus | FarmStatus) -> None:
    if any(abs(number) > MAX_NUMBER for number in numbers_in(asdict(status))):
        raise ValueError(f"it has a number of more than {MAX_NUMBER:g}")


def _farm_file(runs: Path, owner: str) -> Path:
    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in owner)
    return runs / FARM / f"{name}.json"


def _write(path: Path, text: str) -> None:
    """Write without syncing, and ignore errors: the file is soon rewritten."""
    with suppress(TrexError, OSError):
        write_atomic(path, text.encode(), is_precious=False)
