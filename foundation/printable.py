"""Text that a terminal shows as it is: control characters, and those that reorder or hide text, as escapes.

Labels, questions and names come from files and models of others. Written raw, they could clear a terminal, set its
title, forge a line of ours (C0 and C1 controls), or show another text than they hold (bidirectional overrides).
"""

from __future__ import annotations

import re
import unicodedata

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
