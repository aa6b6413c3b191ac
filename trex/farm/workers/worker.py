"""A worker: does tasks in worlds that it keeps open, answers with lines or with an error; its log and its memory."""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from trex.farm.workers.audits import OpenAudit, UntilStopped
from trex.farm.workers.repairs import OpenRenderer
from trex.farm.workers.tasks import (
    Answer,
    AuditUnit,
    FailureKind,
    PrepareRun,
    RenderScenes,
    TaskFailure,
    TaskResult,
    Work,
    run_task,
)
from trex.farm.workers.worlds import IncompatibleWorker, Worlds
from trex.foundation.errors import InputError, ModelError, TrexError
from trex.foundation.files import disk_full
from trex.runs.record import Record, to_line

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
        self._worlds, self._audit = Worlds(processes), OpenAudit(processes)
        self._renderer = OpenRenderer(processes)

    def do(self, work: Work, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
        """The task's result; an error is returned as a TaskFailure, not raised."""
        began = time.monotonic()
        try:
            lines, renders = self._do(work, is_stopped)
        except TaskStopped:
            return self._log_failure(work, TaskFailure(FailureKind.STOPPED, "the task was stopped"))
        except (Exception, SystemExit) as error:
            return self._log_failure(
                work,
                _failure(error, work.run),
                "" if isinstance(error, TrexError) else traceback.format_exc(),
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
        self._audit.close()
        self._renderer.close()

    def _do(self, work: Work, is_stopped: Callable[[], bool]) -> tuple[list[str], int]:
        if isinstance(work, PrepareRun):
            return [self._worlds.begin(work.run).model_dump_json()], 0
        if isinstance(work, AuditUnit):
            return self._do_unit(work, is_stopped)
        if isinstance(work, RenderScenes):
            return self._renderer.lines(work), len(work.scenes)
        records: list[Record] = []
        for batch in run_task(self._worlds.engine(work.run), work):
            records += batch
            if is_stopped():
                raise TaskStopped
        return [to_line(record) for record in records], sum(record.is_rendered for record in records)

    def _do_unit(self, work: AuditUnit, is_stopped: Callable[[], bool]) -> tuple[list[str], int]:
        def check() -> None:
            if is_stopped():
                raise TaskStopped

        opened = self._audit.of(work.run)
        before, rows = opened.renders, UntilStopped(work.known, check)
        work.unit.do(opened, rows)
        lines = [work.unit.codec.line(row).decode() for row in rows.values[len(work.known) :]]
        return lines, opened.renders - before

    def _log_failure(self, work: Work, failure: TaskFailure, trace: str = "") -> TaskFailure:
        fields = {
            **_log_fields(work),
            "kind": failure.kind.value,
            "why": failure.why,
            **({"trace": trace} if trace else {}),
        }
        self._log.warning("not done", extra={"fields": fields})
        return failure


def _failure(error: Exception | SystemExit, run: Path) -> TaskFailure:
    if full := disk_full(error, run):
        return TaskFailure(FailureKind.DISK_FULL, str(full))
    kind = next(kind for error_type, kind in FAILURES if isinstance(error, error_type))
    is_ours = isinstance(error, TrexError)
    return TaskFailure(kind, str(error) if is_ours else f"{type(error).__name__}: {error}")


def _log_fields(work: Work) -> dict[str, object]:
    fields: dict[str, object] = {"run": work.run.name, "work": type(work).__name__}
    if isinstance(work, AuditUnit):
        fields |= {"work": type(work.unit).__name__, "index": work.at}
    elif isinstance(work, RenderScenes):
        fields |= {"index": work.at, "count": len(work.scenes)}
    elif not isinstance(work, PrepareRun) and work.keys:
        phase, chain, index = work.keys[0]
        fields |= {"phase": phase, "chain": chain, "index": index, "count": len(work.keys)}
    return fields


LOGS = "logs"
MAX_BYTES = 4 << 20  # of one file
MAX_OLD_FILES = 2


class JsonLines(logging.Formatter):
    """Formats a log record as one JSON object: time, worker, level, message, and the fields given with it."""

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = getattr(record, "fields", {})
        line = {
            "time": time,
            "worker": self._worker,
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        return json.dumps({**line, **fields}, default=str)


class QuietHandler(RotatingFileHandler):
    """Ignores write errors: a full disk must not stop the work."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Ignore the error that writing this record has caused."""


def worker_log(runs: Path, worker: str) -> logging.Logger:
    """A worker's log below the runs folder; discards all records if that folder is not writable."""
    logger = logging.Logger(
        f"trex.{worker}", logging.INFO
    )  # outside the global tree, so that its handlers end with it
    try:
        (runs / LOGS).mkdir(parents=True, exist_ok=True)
        path = runs / LOGS / f"worker-{worker}.jsonl"
        handler = QuietHandler(
            path, maxBytes=MAX_BYTES, backupCount=MAX_OLD_FILES, encoding="utf-8", delay=True
        )
    except OSError:
        logger.addHandler(logging.NullHandler())
        return logger
    handler.setFormatter(JsonLines(worker))
    logger.addHandler(handler)
    return logger


PROC = Path("/proc")


def memory_mib(pid: int | None = None) -> float:
    """Resident memory of a process and all its descendants in MiB; 0 if the system does not report it."""
    pids, found = [pid or os.getpid()], 0.0
    while pids:
        number = pids.pop()
        found += _resident_mib(number)
        pids += children(number)
    return found


def children(pid: int) -> list[int]:
    """The ids of a process's living children."""
    try:
        lists = [path.read_text() for path in (PROC / str(pid) / "task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def _resident_mib(pid: int) -> float:
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
