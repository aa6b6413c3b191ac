"""Tokens as a server lists them, and the text that they spell.

Some servers list the vocabulary's own writing of a token: byte-level vocabularies have "Ġ" for a space, those of
SentencePiece "▁", and "<0x0A>" for a byte. The token that ends a reply has a name of its own in every model ("</s>",
"<turn|>", "[EOS]"), so it is found by what it is not: part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Tokens that end a reply, as far as their names say so; "" is how llama.cpp lists one.
END = r"<[|｜][^<>\s]*[|｜]>|</s>|<(?:eos|eot|end|endoftext|end_of_[a-z]+|turn\|)>|\[(?:EOS|EOT|END|SEP)\]"
ENDS = re.compile(f"|{END}", re.IGNORECASE)
TRAILING = re.compile(rf"(?:\s*(?:{END}))+\s*\Z", re.IGNORECASE)
# Thoughts, mostly empty, that a server without a reader for them leaves before the answer.
THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
MARKS = str.maketrans({"Ġ": " ", "▁": " ", "Ċ": "\n"})
BYTE = re.compile(r"<0x([0-7][0-9A-Fa-f])>")


class Span(NamedTuple):
    """Which tokens spell a reply's text: from the place `begin` to `end`, where its end stands if any token is left.

    The tokens before are those of what the server keeps apart, such as thoughts.
    """

    begin: int
    end: int


def written(token: str) -> str:
    """A token as a text has it."""
    byte = BYTE.fullmatch(token)
    if byte:
        return chr(int(byte[1], 16))
    return token if ENDS.fullmatch(token) else token.translate(MARKS)


def without_end(text: str) -> str:
    """A text without the names of tokens that end it, which some servers leave there."""
    return TRAILING.sub("", text)


def without_thoughts(text: str) -> str:
    """A text without a block of thoughts that it begins with; one that does not end there stays."""
    found = THOUGHTS.match(text)
    return text[found.end() :] if found else text


def span_of(texts: Sequence[str], text: str, *, is_cut: bool, has_thoughts: bool = False) -> Span | None:
    """Which tokens spell the text, up to white space around it; None if none do.

    A token after those that spell it, and is no white space, ends the reply, whatever its name. With thoughts, the
    text comes last.
    """
    begins = [0] if not text.strip() else [*([] if has_thoughts else [0]), *reversed(range(len(texts)))]
    for begin in begins:
        end = _end(texts, begin, text.strip(), is_cut=is_cut)
        if end is not None:
            return Span(begin, end)
    return None


def _end(texts: Sequence[str], begin: int, text: str, *, is_cut: bool) -> int | None:
    said = ""
    for place in range(begin, len(texts)):
        is_end = bool(ENDS.fullmatch(texts[place]))
        if said.strip() == text and (is_end or (text and texts[place].strip() and not is_cut)):
            return place
        if is_end:
            return None
        said += texts[place]
    return len(texts) if said.strip() == text else None
