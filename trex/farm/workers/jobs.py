"""The searches of one `trex queue run`, each in a thread that mostly waits for workers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trex.farm.queue.queued_folder import queued_query, read_queued
from trex.farm.workers.audits import run_audit
from trex.farm.workers.engine import FarmEngine, begin_run
from trex.farm.workers.repairs import run_repair
from trex.farm.workers.task_board import TaskBoard
from trex.finding.find import run_to_end
from trex.foundation.errors import TrexError
from trex.foundation.files import disk_full
from trex.runs.folder import RunFolder, begin, is_run, open_run
from trex.runs.trust import check_made_here
from trex.search.progress import Status, Watcher

log = logging.getLogger(__name__)
MakeEngine = Callable[[RunFolder], FarmEngine]


class Dropped(Exception):
    """The search ends without a report: it was cancelled, claimed elsewhere, or the farm stops. Its draws are kept."""


@dataclass
class Latest(Watcher):
    """The latest progress of a search."""

    status: Status | None = None

    def update(self, status: Status) -> None:
        """Store the progress for later reads."""
        self.status = status

    def note(self, words: str) -> None:
        """Nothing: the run's page says it."""


@dataclass
class RunningSearch:
    """A search in its thread; `error` is the exception that ended it, None if it wrote its report."""

    name: str
    run: Path
    progress: Latest = field(default_factory=Latest)
    error: Exception | SystemExit | None = None
    thread: threading.Thread | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the thread has finished."""
        return self.thread is not None and not self.thread.is_alive()


def start_search(
    board: TaskBoard, name: str, run: Path, priority: int, make_engine: MakeEngine, workers: int
) -> RunningSearch:
    """Start a thread that runs or resumes a queued run up to its report, for this many workers."""
    job = RunningSearch(name, run)

    def work() -> None:
        try:
            run_queued(board, name, run, make_engine, workers, job.progress)
        except (TrexError, Dropped) as error:
            job.error = disk_full(error, run) or error
        except (Exception, SystemExit) as error:
            job.error = disk_full(error, run) or error
            if job.error is error:
                log.exception("internal error in the search of %s", run)
        finally:
            board.close(name)

    board.open(name, priority)
    job.thread = threading.Thread(target=work, name=f"search {name}", daemon=True)
    job.thread.start()
    return job


def run_queued(
    board: TaskBoard, name: str, run: Path, make_engine: MakeEngine, workers: int, progress: Watcher
) -> None:
    """Begin or resume a queued search, audit or repair and write its report."""
    kind = read_queued(run).kind
    if kind == "repair":
        return run_repair(board, name, run, workers, progress)
    if kind == "audit":
        check_made_here(run, queued_query(run))
        return run_audit(board, name, run, progress)
    with _opened(board, name, run) as folder:
        run_to_end(make_engine(folder), folder, progress)


def _opened(board: TaskBoard, name: str, run: Path) -> RunFolder:
    if is_run(run):
        folder = open_run(run, for_writing=True)
        try:
            check_made_here(run, folder.manifest.query)
        except TrexError:
            folder.close()
            raise
        return folder
    check_made_here(run, queued_query(run))
    return begin(run, read_queued(run).text, begin_run(board, name, run))
