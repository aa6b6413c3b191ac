"""Logs a run with a tracker, and remembers its identifier there, so that a later time replaces the first."""

from __future__ import annotations

import json
import re
from pathlib import Path

from trex.foundation.errors import RunError
from trex.foundation.files import is_missing, read_text, write_atomic
from trex.foundation.parse import parse_json
from trex.tracking.tracker import RunLog, Tracker

FILE = "tracking.json"  # in the run folder: {tracker: identifier}
IDENTIFIER = re.compile(r"[\w-]{1,200}", re.ASCII)


def log_run(folder: Path, what: RunLog, tracker: Tracker) -> str:
    """Send a run to a tracker and return its identifier there; RunError if the tracker or the disk refuses."""
    known = _identifiers(folder)
    try:
        identifier = tracker.send(what, known.get(tracker.name, ""))
    except Exception as error:  # trackers raise what their libraries raise
        raise RunError(
            f"{tracker.name} did not take the run: {type(error).__name__}: {str(error)[:500]}; its draws and its page "
            f"are complete. To log it: trex report {folder} --log {tracker.name}"
        ) from error
    text = json.dumps(known | {tracker.name: identifier}, indent=1) + "\n"
    write_atomic(folder / FILE, text.encode(), is_precious=False)
    return identifier


def _identifiers(folder: Path) -> dict[str, str]:
    """The identifiers of earlier times; RunError if the file is not of this form."""
    path = folder / FILE
    try:
        text = read_text(path, error=RunError)
    except RunError as error:
        if is_missing(error):
            return {}
        raise
    found = parse_json(text, str(path), error=RunError)
    if not isinstance(found, dict) or not all(
        isinstance(one, str) and IDENTIFIER.fullmatch(one) for one in found.values()
    ):
        raise RunError(f"{path} must hold only identifiers of trackers; delete it to log the run again")
    return {name: str(one) for name, one in found.items()}
