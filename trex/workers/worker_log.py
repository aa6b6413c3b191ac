"""`runs/logs/worker-*.jsonl`: one JSON object per task, in files that rotate."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

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
