"""Experiment trackers: what a module of this package declares as `TRACKER`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.extensions import declared, named


@dataclass(frozen=True)
class RunLog:
    """What a tracker receives of a run: settings, figures at the end, a series over the chains' steps, and files.

    `series` holds (step, figures of that step) in ascending order of the steps.
    """

    name: str
    parameters: Mapping[str, str]
    figures: Mapping[str, float]
    series: Sequence[tuple[int, Mapping[str, float]]]
    files: Sequence[Path]


@dataclass(frozen=True)
class Tracker:
    """A place to log runs.

    `check` raises InputError if a package that the tracker needs is missing. `send` logs a run and returns the
    identifier that the tracker gave it; with the identifier of an earlier time it replaces what was logged then.
    """

    name: str
    check: Callable[[], None]
    send: Callable[[RunLog, str], str]


def tracker_named(name: str) -> Tracker:
    """The tracker of this name; InputError if there is none."""
    return named("tracker", name, declared("trex.tracking", "TRACKER", Tracker))
