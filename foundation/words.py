"""Numbers and nouns as sentences need them."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """ "1 scene", "2 scenes", "10,000 draws"; `many` if the plural does not just add an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
