"""Ctrl-C and a polite kill end a long command alike: nothing is lost, and it says how to go on."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

from trex.foundation.errors import STOPPED

STOPS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable(last_words: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Where the work inside is stopped, these lines are said and the command ends with code STOPPED."""
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
    """A stop that comes inside takes effect at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in STOPS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler or signal.SIG_DFL)  # None: set by something that is not Python
        for number in came:
            signal.raise_signal(number)


def say(line: str) -> None:
    """On standard error, so that standard output can be read by machines."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
