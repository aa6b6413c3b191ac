"""An audit on the farm: any worker does its units, and the rows are put together in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from trex.auditing.perform import perform, work_of
from trex.auditing.records import Settings, check_same, read_settings
from trex.auditing.work import MANIFEST, Opened, Unit, Work
from trex.bank.named import bank_world
from trex.clevr_models.interface.bound import BoundModel
from trex.clevr_models.interface.question import Question
from trex.farm.queue.audits import audit_options
from trex.farm.queue.queued_folder import read_queued
from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.tasks import AuditUnit
from trex.farm.workers.worlds import IncompatibleWorker
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import write_atomic
from trex.runs.folder import FINISHED
from trex.search.progress import Status, Watcher
from trex.trials.lines import AGAIN, Rows

T = TypeVar("T")


class FarmCrew:
    """Has the workers of a farm do an audit's units; satisfies `trex.auditing.work.Crew`."""

    def __init__(self, board: TaskBoard, job: str, run: Path) -> None:
        self._board, self._job, self._run = board, job, run
        self.renders = 0

    def do(self, units: Sequence[Unit[T]], log: Rows[T]) -> Iterator[int]:
        """Put all units on the board, and append their rows in order."""
        tasks = [AuditUnit(self._run, at, unit, unit.known(log.values)) for at, unit in enumerate(units)]
        results = self._board.in_order(self._job, tasks)
        for done, (unit, result) in enumerate(zip(units, results, strict=True), start=1):
            log.append([unit.codec.parse(line, "a worker's answer", AGAIN) for line in result.lines])
            self.renders += result.renders
            yield done


def run_audit(board: TaskBoard, job: str, run: Path, watcher: Watcher) -> None:
    """Run or resume a queued audit up to its report. The model is loaded by the workers alone."""
    options, settings = audit_options(read_queued(run).text, run), _settings(run)
    prior = bank_world(options.world)
    model = Elsewhere(settings.model)
    work = Work(
        model,
        settings,
        prior,
        run,
        options.bank,
        None,
        options.probed,
        options.fresh,
        options.device,
        options.wordings,
    )
    crew = FarmCrew(board, job, run)

    def progress(step: str, done: int, total: int | None, /, *facts: str) -> None:
        board.check(job)  # what this process does itself asks for no task
        watcher.update(Status(step, done, total or 0, crew.renders, 0, 0, 0.0, 0, 0))

    perform(options, progress, work=work, crew=crew)
    write_atomic(run / FINISHED, b"")


@dataclass(frozen=True)
class Elsewhere:
    """A model that is asked in other processes."""

    name: str

    def bind(self, question: Question) -> BoundModel:
        """Our own mistake: the workers ask."""
        raise AssertionError(f"{self.name} is asked {question} in the process of the queue")


class OpenAudit:
    """The audit that a worker keeps open: its model, its bank and its renderer."""

    def __init__(self, processes: int | None) -> None:
        self._processes = processes
        self._opened: Opened | None = None

    def of(self, run: Path) -> Opened:
        """The audit in this folder; IncompatibleWorker if the model here is another, or cannot be opened."""
        if self._opened is None or self._opened.work.folder != run:
            self.close()
            self._opened = Opened(self._work(run))
        return self._opened

    def close(self) -> None:
        """Stop the renderers."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _work(self, run: Path) -> Work:
        options = audit_options(read_queued(run).text, run)
        try:
            work = work_of(options.model_copy(update={"out": run, "processes": self._processes}))
            check_same(_settings(run), work.settings, run)
        except TrexError as error:
            raise IncompatibleWorker(f"this worker cannot do the audit in {run}: {error}") from error
        return work


class UntilStopped(Rows[T]):
    """Rows in memory; `check` is called after each and may raise."""

    def __init__(self, values: Sequence[T], check: Callable[[], None]) -> None:
        super().__init__(values)
        self._check = check

    def append(self, values: list[T]) -> None:
        """Append all values."""
        super().append(values)
        self._check()


def _settings(run: Path) -> Settings:
    found = read_settings(run / MANIFEST)
    if found is None:
        raise RunError(f"{run} has no {MANIFEST}; move the folder away and queue the audit again")
    return found
