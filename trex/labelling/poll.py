"""A poll: the order in which each annotator sees the pictures, what is next, and votes that several give at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from trex.labelling.survey import Shown
from trex.labelling.votes import Vote, VoteLog

REMEMBERED = 64  # orders of annotators
WORD = 0xFFFFFFFF
OFFSET, PRIME = 0x811C9DC5, 0x01000193  # FNV-1a of 32 bits, http://www.isthe.com/chongo/tech/comp/fnv/


class Turn(NamedTuple):
    """Where an annotator is: the next picture ("" after the last), how many are labelled, and the last one of these."""

    picture: str
    done: int
    of: int
    last: str


class Poll:
    """The pictures and the votes on them; safe to use from several threads."""

    def __init__(self, shown: Shown, log: VoteLog) -> None:
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


def order_of(annotator: str, names: Sequence[str], key: str) -> tuple[str, ...]:
    """The pictures in this annotator's order, which depends on nothing but the key, the pseudonym and the names.

    Sorted by a hash. `label_export.js` has the same function, so that exported pages show the same order.
    """
    start = _fnv(f"{key} {annotator} ", OFFSET)
    return tuple(sorted(names, key=lambda name: (_stirred(_fnv(name, start)), name)))


def _fnv(text: str, state: int) -> int:
    for byte in text.encode():
        state = ((state ^ byte) * PRIME) & WORD
    return state


def _stirred(state: int) -> int:
    """The last step of MurmurHash3, after which names that differ in one digit are far apart."""
    state = ((state ^ state >> 16) * 0x85EBCA6B) & WORD
    state = ((state ^ state >> 13) * 0xC2B2AE35) & WORD
    return state ^ state >> 16
