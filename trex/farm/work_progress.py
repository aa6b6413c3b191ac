"""The progress display of one `trex work`: queries that have ended, and the progress of running ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trex.foundation.words import counted
from trex.search.progress import PHASES
from trex.workers.jobs import RunningSearch

if TYPE_CHECKING:
    from trex.pages.display import Display

SHOWN = 3  # running queries on display


class WorkProgress:
    """Refreshes the display every half second; shows nothing while no query runs."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def __call__(self, jobs: Collection[RunningSearch], done: int, failed: int) -> None:
        """Refresh the display."""
        if jobs:
            running = [_progress(job) for job in list(jobs)[:SHOWN]]
            more = (
                [f"and {counted(len(jobs) - SHOWN, 'more query', 'more queries')}"]
                if len(jobs) > SHOWN
                else []
            )
            failures = [f"{failed} failed"] if failed else []
            self._display.show("queries ended:", done + failed, None, *failures, *running, *more)


def _progress(job: RunningSearch) -> str:
    status = job.progress.status
    if status is None:
        return f"{job.run.name}: starting"
    return f"{job.run.name}: {PHASES.get(status.phase, status.phase)} {status.done}/{status.total}"
