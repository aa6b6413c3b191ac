"""One worker in this process, without Ray and without a second copy of the model."""

from __future__ import annotations

import os
import platform
import threading
from queue import SimpleQueue

from trex.workers.pool import Answered, Inbox, Joined
from trex.workers.task_board import Task
from trex.workers.task_result import FailureKind, TaskFailure
from trex.workers.tasks import ALL
from trex.workers.worker import Worker

NAME = "here"


class LocalPool:
    """Runs in a thread of its own, so that leases are renewed during a render; steps all chains of a query at once."""

    chains_per_task = ALL
    size = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._work: SimpleQueue[Task | None] = SimpleQueue()
        self._is_stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, inbox: Inbox) -> None:
        """Start the thread; reports `Joined` once it waits for work."""
        self._thread = threading.Thread(target=self._run, args=(inbox,), name="worker", daemon=True)
        self._thread.start()
        inbox.put(Joined(NAME, platform.node(), os.getpid()))

    def submit(self, worker: str, task: Task) -> None:
        """Give the thread a task."""
        assert worker == NAME
        self._work.put(task)

    def check(self) -> None:
        """Does nothing: a thread lives as long as its process."""

    def close(self) -> None:
        """Stop after the current render."""
        self._is_stopped.set()
        self._work.put(None)
        if self._thread is not None:
            self._thread.join()
        self._worker.close()

    def _run(self, inbox: Inbox) -> None:
        while (task := self._work.get()) is not None:
            if self._is_stopped.is_set():
                answer = TaskFailure(FailureKind.STOPPED, "the farm was stopped")
                inbox.put(Answered(NAME, task, answer))
                continue
            inbox.put(Answered(NAME, task, self._worker.do(task.work, self._is_stopped.is_set)))
