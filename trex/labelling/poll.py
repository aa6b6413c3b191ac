"""A poll: what each annotator is shown next, and their votes, of which two at once lose nothing."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import NamedTuple, Protocol

from trex.labelling.annotator import order_of
from trex.labelling.shown import Shown
from trex.labelling.tally import Tally, Vote

REMEMBERED = 64  # orders of annotators


class Log(Protocol):
    """Where votes go: a vote is on the disk when `append` returns."""

    @property
    def tally(self) -> Tally:
        """The votes that stand."""
        ...

    def append(self, vote: Vote) -> None:
        """Check a vote, write it and count it."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Turn(NamedTuple):
    """Where an annotator is: the next picture ("" after the last), how many are labelled, and the last one of these."""

    picture: str
    done: int
    of: int
    last: str


class Poll:
    """The pictures and the votes on them; safe to use from several threads."""

    def __init__(self, shown: Shown, log: Log) -> None:
        self.shown, self._log, self._lock = shown, log, threading.Lock()
        self._order = lru_cache(REMEMBERED)(
            lambda annotator: order_of(annotator, tuple(shown.pictures), shown.key)
        )

    def turn(self, annotator: str) -> Turn:
        """Where an annotator is: at the first picture of their order without a vote of theirs."""
        order = self._order(annotator)
        with self._lock:
            cast = self._log.tally.of(annotator)
            picture = next((name for name in order if name not in cast), "")
            return Turn(picture, len(cast), len(order), self._log.tally.last(annotator))

    def vote(self, vote: Vote) -> None:
        """Save a vote or an undo; InputError or UnsavedVote, and nothing is saved."""
        with self._lock:
            self._log.append(vote)

    def close(self) -> dict[str, int]:
        """Close the log; returns how many votes of each annotator stand."""
        with self._lock:
            self._log.close()
            return {annotator: len(cast) for annotator, cast in self._log.tally.votes.items()}
