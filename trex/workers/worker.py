"""A worker: does tasks in worlds that it keeps open, and answers with lines or with an error."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence

from trex.foundation.errors import InputError, ModelError, TrexError
from trex.runs.record import Record
from trex.workers.memory import memory_mib
from trex.workers.task_result import Answer, FailureKind, TaskFailure, TaskResult
from trex.workers.tasks import PrepareRun, Work, lines_of, run_task
from trex.workers.worlds import IncompatibleWorker, Worlds

FAILURES: tuple[tuple[type[BaseException], FailureKind], ...] = (
    (IncompatibleWorker, FailureKind.INCOMPATIBLE),
    (InputError, FailureKind.INVALID_QUERY),
    (ModelError, FailureKind.INVALID_QUERY),
    (SystemExit, FailureKind.INVALID_QUERY),  # a model's or a world's own code ends the program
    (Exception, FailureKind.ERROR),
)


class TaskStopped(Exception):
    """The task's result is no longer needed."""


class Worker:
    """Does one task after another with this many render processes (None: as the query or the machine says)."""

    def __init__(self, log: logging.Logger, processes: int | None = None) -> None:
        self._log = log
        self._worlds = Worlds(processes)

    def do(self, work: Work, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
        """The task's result; an error is returned as a TaskFailure, not raised."""
        began = time.monotonic()
        try:
            lines, renders = self._do(work, is_stopped)
        except TaskStopped:
            return self._log_failure(work, TaskFailure(FailureKind.STOPPED, "the task was stopped"))
        except (Exception, SystemExit) as error:
            return self._log_failure(
                work, _failure(error), "" if isinstance(error, TrexError) else traceback.format_exc()
            )
        result = TaskResult(tuple(lines), renders, time.monotonic() - began, memory_mib())
        self._log.info(
            "done",
            extra={"fields": {**_log_fields(work), "renders": renders, "seconds": round(result.seconds, 4)}},
        )
        return result

    def close(self) -> None:
        """Stop Blender."""
        self._worlds.close()

    def _do(self, work: Work, is_stopped: Callable[[], bool]) -> tuple[list[str], int]:
        if isinstance(work, PrepareRun):
            return [self._worlds.begin(work.run).model_dump_json()], 0
        records: list[Record] = []
        for batch in run_task(self._worlds.engine(work.run), work):
            records += batch
            if is_stopped():
                raise TaskStopped
        return lines_of(records), count_renders(records)

    def _log_failure(self, work: Work, failure: TaskFailure, trace: str = "") -> TaskFailure:
        fields = {
            **_log_fields(work),
            "kind": failure.kind.value,
            "why": failure.why,
            **({"trace": trace} if trace else {}),
        }
        self._log.warning("not done", extra={"fields": fields})
        return failure


def count_renders(records: Sequence[Record]) -> int:
    """The number of records that were rendered."""
    return sum(record.is_rendered for record in records)


def _failure(error: Exception | SystemExit) -> TaskFailure:
    kind = next(kind for error_type, kind in FAILURES if isinstance(error, error_type))
    is_ours = isinstance(error, TrexError)
    return TaskFailure(kind, str(error) if is_ours else f"{type(error).__name__}: {error}")


def _log_fields(work: Work) -> dict[str, object]:
    fields: dict[str, object] = {"run": work.run.name, "work": type(work).__name__}
    if not isinstance(work, PrepareRun) and work.keys:
        phase, chain, index = work.keys[0]
        fields |= {"phase": phase, "chain": chain, "index": index, "count": len(work.keys)}
    return fields
