"""What the commands show while scenes are rendered large for the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trex.crosscheck.confirmation import Confirmed
    from trex.pages.display import Display


class LargeProgress:
    """How many are rendered, and how to leave it out; nothing if all of them are there."""

    def __init__(self, display: Display) -> None:
        self._display = display
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
        self._display.show(
            "large pictures for the page", self._done, self._total, "--no-large leaves this out"
        )
