"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE_S = 0.02


def wait_for(condition: Callable[[], object], seconds: float = 600.0, pause_s: float = PAUSE_S) -> None:
    """Return once the condition holds; AssertionError if that takes too long.

    It looks again and again, as there is no event to wait for: what is waited for are lines in files and processes in
    /proc, made by processes that are not asked to tell, since the tests kill them at just that moment.
    """
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} s in vain"
        time.sleep(pause_s)
