"""A single updating line below a notebook's cell, like a terminal's live line. Needs no ipywidgets."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from html import escape
from typing import Protocol


class Handle(Protocol):
    """IPython's handle of a replaceable output."""

    def update(self, shown: object) -> None:
        """Replace the output."""
        ...


class NotebookLine:
    """The line; shows nothing before the first `show`."""

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
