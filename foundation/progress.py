"""Progress of long work: everything that takes minutes reports to one `Progress`."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the name of a step, how much of it is done and of how much (None: unknown), and facts in words.

    `trex.pages.display.Display.show` is one.
    """

    def __call__(self, step: str, done: int, total: int | None, /, *facts: str) -> None:
        """Called after every part of the work, and often before the first."""
        ...


def silent(step: str, done: int, total: int | None, /, *facts: str) -> None:
    """Ignore progress."""
