"""The one progress display of every command that takes long, on standard error.

On a terminal, and below the cell of a notebook, it is a live line with a bar; elsewhere a plain line when something
begins, when it ends, and every 15 s.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from trex.foundation.words import span
from trex.pages.notebook_line import NotebookLine

QUIET_S = 15.0  # between two lines of the same step if there is no terminal
SOURCE = "trex.render"  # the logger that tells what Blender does


class Display(logging.Handler):
    """Shows where a command stands; `with` it, lines of the renderer (starting Blender) are shown too."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.INFO)
        self._console, self._clock = console or Console(file=sys.stderr), clock
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._console)
        self._notebook = NotebookLine()
        self._task: TaskID | None = None
        self._what = ""
        self._first = (0, 0.0)  # done and time when the step began
        self._last_line = 0.0
        self._said: set[str] = set()
        self._level = logging.NOTSET

    def __enter__(self) -> Self:
        logger = logging.getLogger(SOURCE)
        self._level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger(SOURCE)
        logger.removeHandler(self)
        logger.setLevel(self._level)
        if self._task is not None:
            self._bar.stop()

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the renderer; what it does every now and then is said once."""
        words = record.getMessage()
        if record.levelno > logging.INFO or words not in self._said:
            self._said.add(words)
            self.say(words)

    def say(self, line: str) -> None:
        """One line that stays."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def show(self, what: str, done: int, total: int | None, *facts: str) -> None:
        """`done` of `total` (None: not known) of the step `what`, with facts beside it."""
        now = self._clock()
        is_new = what != self._what
        if is_new:
            self._what, self._first = what, (done, now)
        line = ", ".join(filter(None, (f"{what} {_of(done, total)}", *facts, self._left(done, total, now))))
        if self._console.quiet:
            return
        if self._console.is_jupyter:
            self._notebook.show(line, done, total)
        elif self._console.is_terminal:
            self._show_bar(line, done, total)
        elif is_new or done == total or now - self._last_line > QUIET_S:
            self._last_line = now
            self.say(line)

    def _show_bar(self, line: str, done: int, total: int | None) -> None:
        if self._task is None:
            self._task = self._bar.add_task("", total=total)
            self._bar.start()  # not before: what runs inside may have a display of its own
        words = line.replace("[", r"\[")  # brackets are no markup
        self._bar.update(self._task, description=words, completed=done, total=total)

    def _left(self, done: int, total: int | None, now: float) -> str:
        before, since = self._first
        if total is None or not before < done < total or now <= since:
            return ""
        return f"about {span((total - done) * (now - since) / (done - before))} left"


def display_if(is_shown: bool) -> Display:
    """The display, or one that shows nothing."""
    return Display() if is_shown else Display(Console(quiet=True))


def _of(done: int, total: int | None) -> str:
    return f"{done}" if total is None else f"{done}/{total}"
