"""The page of a run while it is searched: there from the first find on, and written again when more is found."""

from __future__ import annotations

import time
from collections.abc import Callable

from trex.report.report import write_report
from trex.runs.folder import RunFolder
from trex.runs.journal import Journal
from trex.runs.record import PRIOR
from trex.search.progress import Status, Watcher
from trex.search.results import read_results

FIRST_S = 10.0  # a search that is over by then has its whole page at once
SHARE = 0.05  # of the time that writing may take


class GrowingPage:
    """Follows a search for another watcher, and writes the run's page when the number of finds has changed.

    No draw depends on it: it reads what is on the disk.
    """

    def __init__(
        self,
        folder: RunFolder,
        journal: Journal,
        inner: Watcher,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._journal, self._inner, self._clock = folder, journal, inner, clock
        self._shown, self._next = 0, clock() + FIRST_S

    def update(self, status: Status) -> None:
        """Tell the other watcher, then write the page if it is time."""
        self._inner.update(status)
        began = self._clock()
        if status.found == self._shown or began < self._next or not self._journal.of(PRIOR):
            return
        results = read_results(self._folder.manifest, self._journal.records)
        write_report(self._folder, results, {}, reloads=True)
        ended = self._clock()
        self._shown, self._next = status.found, ended + (ended - began) / SHARE

    def note(self, words: str) -> None:
        """Tell the other watcher."""
        self._inner.note(words)
