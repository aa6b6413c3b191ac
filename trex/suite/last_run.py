"""`last_run.json`: where the model of the last `trex suite run` at each look failed, to compare the next one with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import is_missing, read_text, write_atomic
from trex.suite.look import STORED, Look

LAST_RUN = "last_run.json"
REMEDY = "restore it from its repository, or delete it to start over"


@dataclass(frozen=True)
class LastRun:
    """The model with the fingerprint of its weights, and whether it failed on each scene, by its name in the suite."""

    model: str
    failed: Mapping[str, bool]
    weights: str = ""


@dataclass(frozen=True)
class LastRuns:
    """What the file holds: the last run of each look, by the look's name."""

    looks: Mapping[str, LastRun]
    format: Literal[1] = 1


CODEC = Codec(LastRuns, InputError)


def read_last_run(suite: Path, look: Look = STORED) -> LastRun | None:
    """The last run at this look, None before the first; InputError if the file is damaged. Follows no link."""
    return _read(suite).looks.get(look.name)


def write_last_run(suite: Path, run: LastRun, look: Look = STORED) -> None:
    """Replace the last run of this look, atomically; those of other looks stay."""
    runs = LastRuns({**_read(suite).looks, look.name: run})
    write_atomic(suite / LAST_RUN, CODEC.text(runs).encode())


def _read(suite: Path) -> LastRuns:
    path = suite / LAST_RUN
    try:
        text = read_text(path, error=InputError, inside=suite)
    except InputError as problem:
        if is_missing(problem):
            return LastRuns({})
        raise InputError(f"{problem}; {REMEDY}") from problem
    return CODEC.parse(text, str(path), REMEDY)
