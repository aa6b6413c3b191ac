"""One search from Python: the model object, the progress display, the page's pictures, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trex.clevr_models.adapters.live import SessionModel, session_model_available
from trex.commands.results.stopped import Stopped
from trex.finding.conclude import Outcome
from trex.finding.find import OnBegin
from trex.finding.page_pictures import Pictures, large_progress
from trex.pages.display import display_if
from trex.search.progress import SearchProgress, Watcher

HINT = "large=False skips this"


def search(
    work: Callable[[Watcher, OnBegin, Pictures], Outcome],
    model: SessionModel | None,
    *,
    progress: bool,
    large: bool,
) -> Outcome:
    """The outcome of `work`, with the pictures that its page lacks; Stopped if it is interrupted."""
    folders: list[Path] = []
    with display_if(progress) as display:

        def on_begin(folder: Path) -> None:
            folders.append(folder)
            display.say(f"writing to {folder}")

        pictures = Pictures(large_progress(display.show, HINT), display.say, large)
        try:
            with session_model_available(model):
                return work(SearchProgress(display), on_begin, pictures)
        except KeyboardInterrupt:
            raise Stopped(folders[0] if folders else None) from None
