"""Annotators: their pseudonyms, and the order in which each of them sees the pictures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trex.foundation.errors import InputError
from trex.foundation.json_fields import short

PSEUDONYM = re.compile(r"[A-Za-z0-9_-]{1,32}")
WORD = 0xFFFFFFFF
OFFSET, PRIME = 0x811C9DC5, 0x01000193  # FNV-1a of 32 bits, http://www.isthe.com/chongo/tech/comp/fnv/


def check_pseudonym(given: str) -> str:
    """The pseudonym; InputError if it is not allowed."""
    if PSEUDONYM.fullmatch(given) is None:
        raise InputError(
            f"pseudonym {short(given)} is not allowed; take 1 to 32 letters A to Z, digits, _ or -"
        )
    return given


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
