"""How a search tells where it stands: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

QUIET_S = 15.0  # between two lines where there is no terminal
PHASES = {"prior": "prior draws", "chain": "chains", "control": "positive control"}


@dataclass(frozen=True)
class Status:
    """Where a search stands: `done` of `total` of the phase; `renders` since this process began."""

    phase: str
    done: int
    total: int
    renders: int
    steps: int
    accepted: int
    best: float
    found: int
    wanted: int


class Progress(Protocol):
    """Whoever watches a search."""

    def update(self, status: Status) -> None:
        """Something has been written to the disk."""
        ...


class Silent:
    """Watches nothing."""

    def update(self, status: Status) -> None:
        """Ignored."""


class Watch:
    """One line on standard error: draw, acceptance, best confidence, renders per second, time left."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stderr)
        self._began = time.monotonic()
        self._phase = ""
        self._first = (0, self._began)  # done and time when the phase began
        self._last_line = 0.0
        self._live: Live | None = None

    def __enter__(self) -> Watch:
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=4, transient=False)
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None

    def update(self, status: Status) -> None:
        """Show the status, at most every few seconds where there is no terminal."""
        now = time.monotonic()
        is_new = status.phase != self._phase
        if is_new:
            self._phase, self._first = status.phase, (status.done, now)
        line = self._line(status, now)
        if self._live is not None:
            self._live.update(Text(line))
        elif is_new or status.done >= status.total or now - self._last_line > QUIET_S:
            self._last_line = now
            self._console.print(line, highlight=False, soft_wrap=True)

    def _line(self, status: Status, now: float) -> str:
        done, since = self._first
        rate = (status.done - done) / (now - since) if now > since and status.done > done else 0.0
        parts = [f"{PHASES[status.phase]} {status.done}/{status.total}"]
        if status.steps:
            parts.append(f"accepted {status.accepted / status.steps:.0%}")
        parts.append(f"best confidence {status.best:.3f}")
        parts.append(f"found {status.found}" + (f"/{status.wanted}" if status.wanted else ""))
        parts.append(f"{status.renders / max(now - self._began, 1e-9):.2f} renders/s")
        parts.append(f"{span((status.total - status.done) / rate)} left at most" if rate else "")
        return ", ".join(part for part in parts if part)


def span(seconds: float) -> str:
    """A time in words: "3 h 05 min", "2 min 10 s", "40 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
