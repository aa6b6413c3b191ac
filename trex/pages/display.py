"""The one progress display of all long commands, on standard error.

On a terminal, and below a notebook's cell, it is a live line with a bar; elsewhere it prints a plain line when a step
begins, when it ends, and every 15 s.
"""

from __future__ import annotations

import importlib
import logging
import sys
import time
from collections.abc import Callable
from html import escape
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from trex.foundation.words import escaped, escaped_lines, span

QUIET_S = 15.0  # between two lines of the same step, without a terminal
SOURCE = "trex.render"  # the logger that reports Blender's state


class Display(logging.Handler):
    """Shows a command's progress; as a context manager it also shows the renderer's messages (starting Blender)."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.INFO)
        self._console, self._clock = console or Console(file=sys.stderr), clock
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), TimeElapsedColumn())
        self._bar = Progress(*columns, console=self._console)
        self._notebook = NotebookLine()
        self._task: TaskID | None = None
        self._step = ""
        self._first = (0, 0.0)  # count and time at the step's start
        self._last_line = 0.0
        self._shown: set[str] = set()
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

    @property
    def is_quiet(self) -> bool:
        """Whether it shows nothing."""
        return self._console.quiet

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message of the renderer, repeated ones only once."""
        line = record.getMessage()
        if record.levelno > logging.INFO or line not in self._shown:
            self._shown.add(line)
            self.say(line)

    def say(self, line: str) -> None:
        """Print one line that stays."""
        self._console.print(escaped_lines(line), highlight=False, markup=False, soft_wrap=True)

    def show(self, step: str, done: int, total: int | None, *facts: str) -> None:
        """Show `done` of `total` (None: unknown) of the step `step`, with further facts."""
        now = self._clock()
        is_new = step != self._step
        if is_new:
            self._step, self._first = step, (done, now)
        parts = (f"{step} {_of(done, total)}", *facts, self._left(done, total, now))
        line = escaped(", ".join(filter(None, parts)))
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
            self._bar.start()  # not earlier: the code inside may have a display of its own
        line = line.replace("[", r"\[")  # brackets are text here, not markup
        self._bar.update(self._task, description=line, completed=done, total=total)

    def _left(self, done: int, total: int | None, now: float) -> str:
        before, since = self._first
        if total is None or not before < done < total or now <= since:
            return ""
        return f"about {span((total - done) * (now - since) / (done - before))} left"


def display_if(is_shown: bool) -> Display:
    """The display, or one that shows nothing if not `is_shown`."""
    return Display() if is_shown else Display(Console(quiet=True))


def shown_in_notebook(thing: object) -> bool:
    """Whether this is a notebook, which then shows the thing below its cell."""
    if not Console().is_jupyter:
        return False
    vars(importlib.import_module("IPython.display"))["display"](thing)
    return True


def _of(done: int, total: int | None) -> str:
    return f"{done}" if total is None else f"{done}/{total}"


class Handle(Protocol):
    """IPython's handle of a replaceable output."""

    def update(self, shown: object) -> None:
        """Replace the output."""
        ...


class NotebookLine:
    """A single updating line below a notebook's cell, without ipywidgets; shows nothing before the first `show`."""

    def __init__(self) -> None:
        self._handle: Handle | None = None

    def show(self, line: str, done: int, total: int | None) -> None:
        """Replace the line and its bar; `total` None means an unknown duration."""
        if self._handle is None:
            module = importlib.import_module("IPython.display")
            display: Callable[..., Handle] = vars(module)["display"]
            self._handle = display(LineOutput(line, done, total), display_id=True)
        else:
            self._handle.update(LineOutput(line, done, total))


class LineOutput:
    """The line as a notebook displays it: HTML with a bar, or plain text."""

    def __init__(self, line: str, done: int, total: int | None) -> None:
        self._line, self._done, self._total = line, done, total

    def __repr__(self) -> str:
        return self._line

    def _repr_html_(self) -> str:
        bar = "<progress></progress>"
        if self._total is not None:
            bar = f'<progress value="{self._done}" max="{max(self._total, 1)}"></progress>'
        return f"<div>{bar} {escape(self._line)}</div>"
