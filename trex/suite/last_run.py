"""`last_run.json`: what the model of the last `trex suite run` answered, to compare the next one with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import write_atomic

LAST_RUN = "last_run.json"


@dataclass(frozen=True)
class LastRun:
    """The model, and whether it failed on each scene, by the scene's name in the suite."""

    model: str
    failed: Mapping[str, bool]
    format: Literal[1] = 1


CODEC = Codec(LastRun, InputError)


def read_last_run(suite: Path) -> LastRun | None:
    """The last run of a suite, None before the first; InputError if its file is damaged. Follows no link."""
    remedy = "restore it from its repository, or delete it to start over"
    return CODEC.read(suite / LAST_RUN, remedy, inside=suite)


def write_last_run(suite: Path, run: LastRun) -> None:
    """Replace the last run, atomically."""
    write_atomic(suite / LAST_RUN, CODEC.text(run).encode())
