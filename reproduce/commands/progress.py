"""The progress display of a command that keeps its work when it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trex.pages.display import Display


@contextmanager
def display_until_stopped(kept: str) -> Iterator[Display]:
    """The progress display; Ctrl-C and SIGTERM print what is `kept` and that the same command resumes."""
    from trex.pages.display import Display
    from trex.search.stopping import stoppable

    with stoppable(lambda: [f"stopped; {kept}, and the same command resumes"]), Display() as display:
        yield display
