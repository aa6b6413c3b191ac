"""Progress of a search, and its display."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trex.foundation.progress import Progress
from trex.foundation.words import whole_percent

if TYPE_CHECKING:
    from trex.pages.display import Display

PHASES = {
    "bank": "bank",
    "likely": "likeliest scenes",
    "prior": "prior scenes",
    "calibration": "comparison of presets",
    "chain": "chains",
    "control": "positive control",
    "control-2": "positive control, second level",
    "spread": "spread sample",
}


@dataclass(frozen=True)
class Status:
    """Progress of a search: `done` of `total` in this phase; `renders` counts from the start of this process."""

    phase: str
    done: int
    total: int
    renders: int
    steps: int
    accepted: int
    best: float
    found: int
    wanted: int


class Watcher(Protocol):
    """Follows a search."""

    def update(self, status: Status) -> None:
        """Called after each write to the disk."""
        ...

    def note(self, words: str) -> None:
        """Called before anything is rendered, with what the user should know of the model."""
        ...


class Silent:
    """Discards progress updates."""

    def update(self, status: Status) -> None:
        """Do nothing."""

    def note(self, words: str) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class AsStep:
    """Shows a search as a step, named by `prefix` and the phase, of longer work, whose model has been noted."""

    prefix: str
    progress: Progress

    def update(self, status: Status) -> None:
        """Show the phase."""
        self.progress(f"{self.prefix}{PHASES[status.phase]}", status.done, status.total)

    def note(self, words: str) -> None:
        """Do nothing."""


class SearchProgress:
    """Displays draws, acceptance, best confidence and renders per second of the search called `name`."""

    def __init__(self, display: Display, name: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._display, self._name, self._clock = display, name, clock
        self._began = clock()

    def update(self, status: Status) -> None:
        """Refresh the display."""
        what = f"{self._name}: {PHASES[status.phase]}" if self._name else PHASES[status.phase]
        self._display.show(what, status.done, status.total, *self._facts(status))

    def note(self, words: str) -> None:
        """Print a warning that stays."""
        self._display.say(f"warning: {words}")

    def _facts(self, status: Status) -> tuple[str, ...]:
        seconds = self._clock() - self._began
        wanted = f" ({status.wanted} wanted)" if status.wanted else ""
        return (
            f"accepted {whole_percent(status.accepted / status.steps)}" if status.steps else "",
            f"best confidence {status.best:.3f}" if status.done or status.renders else "",
            f"found {status.found}{wanted}",
            f"{status.renders / seconds:.2f} renders/s" if status.renders and seconds > 0 else "",
        )
