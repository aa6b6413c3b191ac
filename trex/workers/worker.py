"""A worker: does tasks in worlds that it keeps open, and answers with lines or with an error."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence

from trex.foundation.errors import InputError, ModelError, TrexError
from trex.runs.record import Record
from trex.workers.memory import memory_mib
from trex.workers.task_result import Answer, Kind, TaskFailure, TaskResult
from trex.workers.tasks import PrepareRun, Work, lines_of, run_task
from trex.workers.worlds import IncompatibleWorker, Worlds

KINDS: tuple[tuple[type[BaseException], Kind], ...] = (
    (IncompatibleWorker, "refused"),
    (InputError, "asked"),
    (ModelError, "asked"),
    (Exception, "failed"),
)


class Stopped(Exception):
    """The task's result is not needed any more."""


class Worker:
    """Does one task after another with this many render processes (None: as the query or the machine says)."""

    def __init__(self, log: logging.Logger, processes: int | None = None) -> None:
        self._log = log
        self._worlds = Worlds(processes)

    def do(self, work: Work, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
        """The task's lines; an error is returned as an answer too."""
        began = time.monotonic()
        try:
            lines, renders = self._do(work, is_stopped)
        except Stopped:
            return self._trouble(work, TaskFailure("stopped", "the work was stopped"))
        except Exception as error:
            return self._trouble(
                work, _explained(error), "" if isinstance(error, TrexError) else traceback.format_exc()
            )
        made = TaskResult(tuple(lines), renders, time.monotonic() - began, memory_mib())
        self._log.info(
            "done", extra={"fields": {**_named(work), "renders": renders, "seconds": round(made.seconds, 4)}}
        )
        return made

    def close(self) -> None:
        """Stop Blender."""
        self._worlds.close()

    def _do(self, work: Work, is_stopped: Callable[[], bool]) -> tuple[list[str], int]:
        if isinstance(work, PrepareRun):
            return [self._worlds.begin(work.run).model_dump_json()], 0
        records: list[Record] = []
        for some in run_task(self._worlds.engine(work.run), work):
            records += some
            if is_stopped():
                raise Stopped
        return lines_of(records), count_renders(records)

    def _trouble(self, work: Work, trouble: TaskFailure, trace: str = "") -> TaskFailure:
        fields = {
            **_named(work),
            "kind": trouble.kind,
            "why": trouble.why,
            **({"trace": trace} if trace else {}),
        }
        self._log.warning("not done", extra={"fields": fields})
        return trouble


def count_renders(records: Sequence[Record]) -> int:
    """The number of records that were rendered."""
    return sum(record.is_rendered for record in records)


def _explained(error: Exception) -> TaskFailure:
    kind = next(kind for of, kind in KINDS if isinstance(error, of))
    is_ours = isinstance(error, TrexError)
    return TaskFailure(kind, str(error) if is_ours else f"{type(error).__name__}: {error}")


def _named(work: Work) -> dict[str, object]:
    name: dict[str, object] = {"run": work.run.name, "work": type(work).__name__}
    if not isinstance(work, PrepareRun) and work.keys:
        phase, chain, index = work.keys[0]
        name |= {"phase": phase, "chain": chain, "index": index, "count": len(work.keys)}
    return name
