"""Numbers, shares, nouns and commands for sentences; and text that a terminal shows as it is, control codes escaped.

Labels, questions and names come from files and models of others. Written raw, they could clear a terminal, set its
title, forge a line of ours (C0 and C1 controls), or show another text than they hold (bidirectional overrides).
"""

from __future__ import annotations

import math
import re
import shlex
import unicodedata
from collections.abc import Mapping

# What an estimate is rounded up to, in seconds, below each duration.
STEPS_S = ((120, 5), (3600, 60), (36_000, 600))
LARGEST_STEP_S = 3600
NAMED_KEYS = 5  # of those in which two tables differ


def counted(number: int, text: str, many: str = "") -> str:
    """The number with its noun: "1 scene", "2 scenes", "10,000 draws"; `many` is an irregular plural."""
    return f"{number:,} {text if number == 1 else many or text + 's'}"


def differing_keys(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """The keys in which two tables differ, "" if in none: "objects, seed"; of many, five and their number."""
    keys = [key for key in {**now, **before} if before.get(key) != now.get(key)]
    more = f" and {counted(len(keys) - NAMED_KEYS, 'more key')}" if len(keys) > NAMED_KEYS else ""
    return f"{', '.join(keys[:NAMED_KEYS])}{more}"


def capitalized(text: str) -> str:
    """The text with a capital first letter; the rest is unchanged."""
    return text[:1].upper() + text[1:]


def with_article(words: str) -> str:
    """The words with their article: "a cube", "an object"."""
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def span(seconds: float) -> str:
    """A duration in words: "3 h 05 min", "2 min 10 s", "40 s"."""
    minutes, number = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {number:02} s" if minutes else f"{number} s"


def rough_span(seconds: float) -> str:
    """An estimated duration in words, rounded up: "107 h", "2 h 10 min", "24 min", "1 min 35 s"."""
    step = next((step for below, step in STEPS_S if seconds <= below), LARGEST_STEP_S)
    return span(step * math.ceil(seconds / step)).removesuffix(" 00 min").removesuffix(" 00 s")


MARKUP = re.compile(
    r"[&<>\\`*_\[\]|~#@!]|(?<=:)//|(?<=www)\."
)  # what Markdown or HTML would read as more than text


def escaped(text: str) -> str:
    """The text on one line; what is neither printable nor a space is written as in Python: "\\\\x1b"."""
    return text if text.isprintable() else "".join(map(_escape, text))


def escaped_lines(text: str) -> str:
    """The text with its line breaks and tabs, see `escaped`."""
    return "".join(letter if letter in "\n\t" else escaped(letter) for letter in text)


def markdown_text(text: str) -> str:
    """Markdown, and HTML, that shows the text on one line and links to nothing."""
    return MARKUP.sub(lambda found: "".join(f"&#{ord(letter)};" for letter in found[0]), escaped(text))


def code_span(text: str) -> str:
    """Markdown that shows the text on one line as code, whatever backticks it has."""
    marks = "`" * (_longest_backticks(text) + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{marks}{space}{escaped(text)}{space}{marks}"


def code_block(text: str, language: str) -> tuple[str, ...]:
    """The lines of a Markdown code block that no line of the text ends."""
    fence = "`" * max(3, _longest_backticks(text) + 1)
    return (f"{fence}{language}", escaped_lines(text), fence)


def _longest_backticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _escape(letter: str) -> str:
    return letter if letter.isprintable() or unicodedata.category(letter) == "Zs" else repr(letter)[1:-1]


def quoted(argument: object) -> str:
    """A path or name as one types it in a shell: "runs/a", "'my runs/a'", "./-a"; for commands that are advised."""
    text = str(argument)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def percent(value: float) -> str:
    """A share in percent: 0.1234 gives "12.3%"; two digits below 1%, just "< 0.01%" below that, and "0%", "100%".

    Only what is 1 is "100%": from 99.95% on there are two decimals, and at most "99.99%".
    """
    if value in (0, 1):
        return whole_percent(value)
    if 0 < value < 0.0001:
        return "< 0.01%"
    if 0.9995 <= value < 1:
        return f"{min(value, 0.9999):.2%}"
    if value >= 0.01:
        return f"{value:.1%}"
    return f"{value * 100:.2g}%"


def whole_percent(value: float) -> str:
    """A share in whole percent: .25 gives "25%"."""
    return f"{value:.0%}"


def between(low: str, high: str) -> str:
    """Both ends of an interval: "50–70%", "0.10–0.15", "−0.4 to +0.2"."""
    if low[:1] in "+−":
        return f"{low} to {high}"
    return f"{low.removesuffix('%') if high.endswith('%') else low}–{high}"


def percent_span(low: float, high: float) -> str:
    """Both ends of an interval as a span: "0.19–0.96%", "less than 0.01% to 0.5%"."""
    first, last = (percent(end).replace("<", "less than") for end in (low, high))
    if first.startswith("less"):
        return first if first == last else f"{first} to {last}"
    return between(first, last)


def signed_points(change: float) -> str:
    """A difference of two shares in percentage points, with its sign and without the unit: "−89.3"; "+0.0" for none.

    >>> signed_points(-1e-9)
    '+0.0'
    """
    return f"{100 * change:+z.1f}".replace("-", "−")
