"""Ctrl-C and SIGTERM end a long command alike: nothing is lost, and it prints how to resume."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

from trex.foundation.errors import STOPPED
from trex.foundation.words import escaped_lines

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable(last_words: Callable[[], Sequence[str]]) -> Iterator[None]:
    """If the work inside is stopped, print these lines and exit with code STOPPED."""
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _interrupt) if is_main else None
    try:
        yield
    except KeyboardInterrupt:
        for line in last_words():
            say(line)
        raise typer.Exit(STOPPED) from None
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def undivided() -> Iterator[None]:
    """Delay a stop that arrives inside until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in STOPS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)  # None: the handler was not installed from Python
        for number in came:
            signal.raise_signal(number)


def say(line: str) -> None:
    """Print to standard error, which keeps standard output machine-readable."""
    sys.stderr.write(escaped_lines(line) + "\n")
    sys.stderr.flush()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
