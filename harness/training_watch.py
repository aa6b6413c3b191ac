"""How a training tells where it stands: a bar on a terminal, a line every 15 seconds elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from harness.progress import QUIET_S
from mnist_models.training import Status


class TrainingWatch:
    """Epoch, step, losses and time left, on standard error."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr)
        self._last_line = 0.0
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=self._console)
        self._task = self._bar.add_task("training", total=None)

    def __enter__(self) -> TrainingWatch:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()

    def update(self, status: Status) -> None:
        """Show the status, at most every few seconds where there is no terminal."""
        losses = ", ".join(f"{name} {value:.4f}" for name, value in status.losses.items())
        words = f"epoch {status.epoch}/{status.epochs}, {losses}"
        if self._console.is_terminal:
            self._bar.update(self._task, description=words, completed=status.step, total=status.total)
        elif status.step == status.total or time.monotonic() - self._last_line > QUIET_S:
            self._last_line = time.monotonic()
            self._console.print(
                f"step {status.step}/{status.total}, {words}", highlight=False, soft_wrap=True
            )
