"""What a command that met a bad input left behind, and what is not clear about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 2500  # characters of an error's line
USAGE = re.compile(
    r"^[\s│]*(Invalid value|No such option|Missing|Got unexpected|Option|No such command)", re.M
)
NOTE = re.compile(r"^(note|left out|kept)?.*(damaged|left out|no readable|cannot be read|not)", re.M | re.I)
CODES = (1, 2)  # the run's state, the user's input


@dataclass(frozen=True)
class Ending:
    """How a command ended; `code` is None if it had to be stopped."""

    code: int | None
    out: str
    err: str


def unclear(ending: Ending, *, is_accepted: bool) -> str:
    """What is wrong with the ending, "" if it is clear."""
    if ending.code is None:
        return "hang"
    if "Traceback" in ending.err + ending.out:
        return "traceback"
    if ending.code < 0:
        return f"killed by signal {-ending.code}"
    if is_accepted and ending.code == 0:
        return "" if NOTE.search(ending.err) else "silence"
    if ending.code not in CODES:
        return "accepted" if ending.code == 0 else f"exit code {ending.code}"
    return _unclear_words(ending.err)


def _unclear_words(err: str) -> str:
    if USAGE.search(err):
        return ""
    lines = err.rstrip("\n").split("\n")
    errors = [line for line in lines if line.startswith("error: ")]
    if len(errors) != 1:
        return "silence" if not err.strip() else f"{len(errors)} lines of error"
    if lines[-1] != errors[0]:
        return "the error runs over several lines"
    if len(errors[0]) > LONGEST:
        return f"an error of {len(errors[0])} characters"
    return "" if errors[0].isprintable() else "the error holds characters that cannot be printed"
