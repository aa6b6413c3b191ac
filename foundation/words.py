"""Numbers and nouns for sentences."""

from __future__ import annotations

import math

# What an estimate is rounded up to, in seconds, below each duration.
STEPS_S = ((120, 5), (3600, 60), (36_000, 600))
LARGEST_STEP_S = 3600


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun: "1 scene", "2 scenes", "10,000 draws"; `many` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def capitalized(text: str) -> str:
    """The text with a capital first letter; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def with_article(words: str) -> str:
    """The words with their article: "a cube", "an object"."""
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def span(seconds: float) -> str:
    """A duration in words: "3 h 05 min", "2 min 10 s", "40 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def rough_span(seconds: float) -> str:
    """An estimated duration in words, rounded up: "107 h", "2 h 10 min", "24 min", "1 min 35 s"."""
    step = next((step for below, step in STEPS_S if seconds <= below), LARGEST_STEP_S)
    return span(step * math.ceil(seconds / step)).removesuffix(" 00 min").removesuffix(" 00 s")
