"""`runs/logs/worker-*.jsonl`: one JSON object a line for each piece of work, in files that do not grow for ever."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOGS = "logs"
MOST_BYTES, KEPT = 4 << 20, 2  # a file, and how many older ones


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, worker, level, message, and the fields given with it."""

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
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
    """A file that says nothing where it cannot be written: a full disk must not stop the work."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Nothing."""


def worker_log(runs: Path, worker: str) -> logging.Logger:
    """The log of a worker below the runs folder; where that cannot be written, it logs nothing."""
    logger = logging.Logger(
        f"trex.{worker}", logging.INFO
    )  # not in the global tree: its handlers end with it
    try:
        (runs / LOGS).mkdir(parents=True, exist_ok=True)
        path = runs / LOGS / f"worker-{worker}.jsonl"
        handler = QuietHandler(path, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8", delay=True)
    except OSError:
        logger.addHandler(logging.NullHandler())
        return logger
    handler.setFormatter(JsonLines(worker))
    logger.addHandler(handler)
    return logger
