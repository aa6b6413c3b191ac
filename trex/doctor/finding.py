"""What an examination of the installation found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a part is: it works, it is an addition that is not there, or it is missing or broken."""

    OK = "ok"
    ABSENT = "absent"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the installation, its state in words, and what to do if it is not there."""

    part: str
    state: State
    found: str
    remedy: str = ""
