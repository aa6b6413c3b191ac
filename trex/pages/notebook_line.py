"""One line below a notebook's cell that is written over: what a terminal's live line is there. Needs no ipywidgets."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from html import escape
from typing import Protocol


class Handle(Protocol):
    """What IPython gives for an output that can be replaced."""

    def update(self, shown: object) -> None:
        """Show this instead."""
        ...


class NotebookLine:
    """The line; nothing is shown before the first `show`."""

    def __init__(self) -> None:
        self._handle: Handle | None = None

    def show(self, line: str, done: int, total: int | None) -> None:
        """This line with a bar instead of the one before; `total` None: how long it takes is not known."""
        if self._handle is None:
            module = importlib.import_module("IPython.display")
            display: Callable[..., Handle] = vars(module)["display"]
            self._handle = display(Shown(line, done, total), display_id=True)
        else:
            self._handle.update(Shown(line, done, total))


class Shown:
    """A line as notebooks show it: HTML with a bar, or its text."""

    def __init__(self, line: str, done: int, total: int | None) -> None:
        self._line, self._done, self._total = line, done, total

    def __repr__(self) -> str:
        return self._line

    def _repr_html_(self) -> str:
        bar = "<progress></progress>"
        if self._total is not None:
            bar = f'<progress value="{self._done}" max="{max(self._total, 1)}"></progress>'
        return f"<div>{bar} {escape(self._line)}</div>"
