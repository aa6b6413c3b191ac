"""What every entrant is told and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.planted.claims import Claim, Slice
from benchmarks.planted.referee import Referee


@dataclass(frozen=True)
class Hint:
    """The kind of a mistake, for entrants that must be told: an attribute, and what it is taken for; or "missed"."""

    shows: str
    value: str


@dataclass(frozen=True)
class Result:
    """What an entrant claims, and how many failing scenes it saw."""

    claims: tuple[Claim | Slice, ...]
    failing: int = 0
    note: str = ""


Entrant = Callable[[Referee, int, tuple[Hint, ...]], Result]
