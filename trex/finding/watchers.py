"""Progress displays for explaining, confirming, and rendering hits large for the page."""

from __future__ import annotations

from pathlib import Path

from trex.foundation.words import counted
from trex.pages.display import Display
from trex.trials.confirmation import Confirmed

NO_LARGE = "--no-large skips this"  # the command line's hint


class ExplainProgress:
    """Displays the number of explained scenes and of pictures scored for them."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._pictures = self._number = self._total = 0

    def begin(self, number: int, total: int) -> None:
        """Show that scene `number` of `total` begins."""
        self._number, self._total = number, total
        self._show(number - 1)

    def pictures(self, count: int) -> None:
        """Add the scored pictures."""
        self._pictures += count
        self._show(self._number - 1)

    def done(self) -> None:
        """Show that the scene is written."""
        self._show(self._number)

    def _show(self, done: int) -> None:
        scored = f"{counted(self._pictures, 'picture')} scored"
        self._display.show("scenes explained", done, self._total, scored)


class ConfirmProgress:
    """Displays which scene is rendered, and the verdict on the last one."""

    def __init__(self, display: Display, preset: str) -> None:
        self._display, self._preset = display, preset
        self._done = self._total = 0

    def begin(self, done: int, total: int) -> None:
        """Show that `done` of all scenes exist already."""
        self._done, self._total = done, total
        self._show(f"{counted(done, 'scene')} confirmed before" if done else "")

    def done(self, run: Path, scene: Confirmed) -> None:
        """Show the verdict on the scene."""
        self._done += 1
        change = f"{scene.before.confidence:.3f} to {scene.after.confidence:.3f}"
        self._show(f"{run.name}: {change}, {scene.verdict}")

    def _show(self, last: str) -> None:
        is_over = self._done >= self._total
        now = "" if is_over else f"rendering scene {self._done + 1} at preset {self._preset}"
        self._display.show("scenes confirmed", self._done, self._total, last, now)


class LargeProgress:
    """Displays how many scenes are rendered, and the `hint` to skip this; nothing if all exist."""

    def __init__(self, display: Display, hint: str = "") -> None:
        self._display, self._hint = display, hint
        self._done = self._total = 0

    def begin(self, done: int, total: int) -> None:
        """Show that `done` of all scenes exist already."""
        self._done, self._total = done, total
        if done < total:
            self._show()

    def done(self, run: Path, scene: Confirmed) -> None:
        """Count the scene."""
        self._done += 1
        self._show()

    def _show(self) -> None:
        self._display.show("large pictures for the page", self._done, self._total, self._hint)
