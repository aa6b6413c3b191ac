"""The engine that puts a search's work on the farm's task board and sorts what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trex.inference.chains import Checkpoint
from trex.inference.targets import GaussianTarget
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest, parse_manifest
from trex.runs.record import Record, from_line
from trex.search.engine import Independent
from trex.workers.reassembly import ChainBook, DrawBook
from trex.workers.task_board import TaskBoard
from trex.workers.tasks import ALL, SCENES, STEPS, PrepareRun
from trex.worlds.kernels import SAMPLERS
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING


class FarmEngine:
    """Runs a search on the workers of a farm; satisfies `trex.search.engine.Engine`.

    A worker steps `together` chains at once. Up to `spread` tasks of scenes may run ahead of what the search has
    requested; they are wasted if it stops there. Fresh draws may be requested between two rounds. NUTS steps all
    chains together, since the last bits of a gradient depend on a chain's place in the batch, and runs its warmup as
    one task, since an interrupted warmup starts again.
    """

    def __init__(self, desk: TaskBoard, job: str, folder: RunFolder, *, together: int, spread: int) -> None:
        search = folder.manifest.query.search
        sampler = SAMPLERS.known.get(search.kernel)
        self._desk, self._job, self._run = desk, job, folder.path
        self._together, self._ahead = ALL if sampler and sampler.is_joint else together, spread * SCENES
        self._uncut = search.n_warmup if sampler and sampler.has_whole_warmup else 0
        self._books: list[DrawBook | ChainBook] = []

    def draws(self, what: Independent, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """Yield the draws in order, in batches, from tasks ahead of the request."""
        if not indices:
            return
        book = self._book(what, indices.start)
        while True:
            self._desk.put(self._job, book.due(min(most, indices.stop + self._ahead)))
            records = book.whole(indices.stop)
            if records:
                yield records
            if book.is_whole(indices.stop):
                return
            self._take_in()

    def rounds(
        self,
        phase: str,
        target: GaussianTarget,
        begin: Checkpoint[Latent],
        n_rounds: int,
        lead: str = DECIDING,
    ) -> Iterator[Sequence[Record]]:
        """Yield whole rounds in order, from tasks of `together` chains."""
        self._withdraw()
        book = ChainBook(
            self._run, phase, target, begin, n_rounds,
            steps=STEPS, together=self._together, uncut=self._uncut, lead=lead,
        )  # fmt: skip
        self._books.append(book)
        try:
            while not book.is_whole:
                self._desk.put(self._job, book.due())
                waits = True
                for records in book.whole():
                    waits = False  # a request for fresh draws may have taken in segments meanwhile
                    yield records
                if waits:
                    self._take_in()
        finally:
            self._withdraw()

    def _book(self, what: Independent, begin: int) -> DrawBook:
        """The book of these draws: that of an earlier request, if nothing has withdrawn it."""
        books = [book for book in self._books if isinstance(book, DrawBook) and book.is_of(what)]
        if what.zs is None and books:
            return books[0]
        self._books = [book for book in self._books if book not in books]
        book = DrawBook(self._run, what, begin, SCENES)
        self._books.append(book)
        return book

    def _withdraw(self) -> None:
        self._desk.withdraw(self._job)
        self._books = []

    def _take_in(self) -> None:
        for work, made in self._desk.wait(self._job):
            assert not isinstance(work, PrepareRun)
            for book in self._books:
                if book.owns(work):
                    book.accept(work, [from_line(line) for line in made.lines])


def begin_run(desk: TaskBoard, job: str, run: Path) -> Manifest:
    """The manifest of a queued run, as a worker determines it."""
    desk.put(job, [PrepareRun(run)])
    made = desk.wait(job)[0][1]
    desk.withdraw(job)  # the answer may come twice
    return parse_manifest(made.lines[0], f"what a worker says of {run}")
