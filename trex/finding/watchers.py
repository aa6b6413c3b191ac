"""Progress displays for explaining, and for rendering hits large for the page."""

from __future__ import annotations

from trex.foundation.words import counted
from trex.pages.display import Display
from trex.trials.confirm import OnProgress

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


def large_progress(display: Display, hint: str = "") -> OnProgress:
    """Displays how many scenes are rendered large, and the `hint` to skip this."""
    return lambda done, total, last, now: display.show("large pictures for the page", done, total, hint)
