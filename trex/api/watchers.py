"""What is shown while found scenes are explained, confirmed, or rendered large for the page."""

from __future__ import annotations

from pathlib import Path

from trex.crosscheck.confirmation import Confirmed
from trex.foundation.words import counted
from trex.pages.display import Display

NO_LARGE = "--no-large leaves this out"  # the hint of the command line


class ExplainProgress:
    """Scenes explained, and the pictures that this took."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._pictures = self._number = self._total = 0

    def begin(self, number: int, total: int) -> None:
        """Scene `number` of `total` is begun."""
        self._number, self._total = number, total
        self._show(number - 1)

    def pictures(self, count: int) -> None:
        """So many more pictures of it are scored."""
        self._pictures += count
        self._show(self._number - 1)

    def done(self) -> None:
        """It is written."""
        self._show(self._number)

    def _show(self, done: int) -> None:
        scored = f"{counted(self._pictures, 'picture')} scored"
        self._display.show("scenes explained", done, self._total, scored)


class ConfirmProgress:
    """Which scene is rendered, and what the last one has become."""

    def __init__(self, display: Display, preset: str) -> None:
        self._display, self._preset = display, preset
        self._done = self._total = 0

    def begin(self, done: int, total: int) -> None:
        """So many of all scenes are there already."""
        self._done, self._total = done, total
        self._show(f"{counted(done, 'scene')} confirmed before" if done else "")

    def done(self, run: Path, scene: Confirmed) -> None:
        """One more is there."""
        self._done += 1
        change = f"{scene.before.confidence:.3f} to {scene.after.confidence:.3f}"
        self._show(f"{run.name}: {change}, {scene.verdict}")

    def _show(self, last: str) -> None:
        is_over = self._done >= self._total
        now = "" if is_over else f"rendering scene {self._done + 1} at preset {self._preset}"
        self._display.show("scenes confirmed", self._done, self._total, last, now)


class LargeProgress:
    """How many are rendered, and `hint` of how to leave it out; nothing if all of them are there."""

    def __init__(self, display: Display, hint: str = "") -> None:
        self._display, self._hint = display, hint
        self._done = self._total = 0

    def begin(self, done: int, total: int) -> None:
        """So many of all scenes are there already."""
        self._done, self._total = done, total
        if done < total:
            self._show()

    def done(self, run: Path, scene: Confirmed) -> None:
        """One more is there."""
        self._done += 1
        self._show()

    def _show(self) -> None:
        self._display.show("large pictures for the page", self._done, self._total, self._hint)
