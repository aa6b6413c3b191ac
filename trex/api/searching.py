"""One search from Python: the model object, the progress display, the page's pictures, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trex.api.find import Outcome, Tell
from trex.api.page_pictures import add_pictures
from trex.api.stopped import Stopped
from trex.api.watchers import LargeProgress
from trex.clevr_models.adapters.live import Live, lent
from trex.pages.display import display_if
from trex.search.progress import Progress, SearchProgress

HINT = "large=False leaves this out"


def search(
    work: Callable[[Progress, Tell], Outcome], model: Live | None, *, progress: bool, large: bool
) -> Outcome:
    """The outcome of `work`, with the pictures that its page lacks; Stopped if it is interrupted."""
    place: list[Path] = []
    with display_if(progress) as display:

        def tell(folder: Path) -> None:
            place.append(folder)
            display.say(f"writing to {folder}")

        try:
            with lent(model):
                done, why_not = add_pictures(
                    work(SearchProgress(display), tell), LargeProgress(display, HINT), large=large
                )
        except KeyboardInterrupt:
            raise Stopped(place[0] if place else None) from None
        if why_not:
            display.say(why_not)
        return done
