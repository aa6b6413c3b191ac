"""The reason that a server gives in its reply for refusing a request, made safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trex.foundation.errors import ModelError
from trex.foundation.parse import parse_json

LONGEST = 300  # characters of a reason
LARGEST = 1 << 16  # bytes of a reply that may give one
HIDDEN = "[key]"
ALIKE = 8  # characters in a row that a reason may not share with the secret
# Where servers put it: OpenAI, FastAPI, Ollama, Hugging Face, Mistral, and proxies that pass another's reply on.
WORDS = ("error", "errors", "message", "msg", "detail", "reason", "title", "error_message", "metadata", "raw")
FIELD, PLACE = "param", "loc"  # the field of the request: OpenAI's name for it, and FastAPI's path to it
MOST = 5  # items of a list that are read
DEPTH = 6


@dataclass(frozen=True)
class Reason:
    """One printable line, "" if the server gives no reason; and the fields of the request that it names apart."""

    text: str = ""
    fields: tuple[str, ...] = ()


def reason_in(data: bytes, secret: str = "") -> Reason:
    """The reason in a reply, without the secret or a part of it, and without control characters."""
    try:
        reply = parse_json(data, "the reply", error=ModelError)
    except ModelError:
        return Reason(shown(_plain(data), secret))
    return reason_of(reply, secret)


def reason_of(reply: object, secret: str = "") -> Reason:
    """The reason in a parsed reply, or in its part `error`."""
    message = dict.fromkeys(filter(None, (shown(text, secret) for text in _texts(reply, DEPTH))))
    return Reason(_bounded("; ".join(message)), tuple(_fields(reply, DEPTH)))


def shown(text: str, secret: str = "") -> str:
    """The text on one printable line of at most `LONGEST` characters, without the secret."""
    line = "".join(sign if sign.isprintable() else " " if sign.isspace() else "" for sign in text)
    return _bounded(_without(" ".join(line.split()), secret).rstrip(" ."))


def _bounded(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def _without(line: str, secret: str) -> str:
    """The line with "[key]" for whatever shares `ALIKE` characters in a row with the secret, in any case.

    A shorter secret is a placeholder, such as "none": it goes where it stands as a word.
    """
    if len(secret) < ALIKE:
        word = rf"(?<![A-Za-z0-9]){re.escape(secret)}(?![A-Za-z0-9])"
        return re.sub(word, HIDDEN, line) if secret else line
    parts = {secret[i : i + ALIKE].lower() for i in range(len(secret) - ALIKE + 1)}
    starts = [i for i in range(len(line)) if line[i : i + ALIKE].lower() in parts]
    shared = {i + k for i in starts for k in range(ALIKE)}
    marked = "".join("\0" if i in shared else sign for i, sign in enumerate(line))
    return re.sub("\0+", HIDDEN, marked)


def _plain(data: bytes) -> str:
    """A reply that is text and no page; "" for anything else."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return "" if text.lstrip()[:1] in ("<", "{", "[") or "\0" in text else text


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth:
        for item in value[:MOST]:
            yield from _texts(item, depth - 1)
    elif isinstance(value, dict) and depth:
        place = ".".join(str(part) for part in _place(value) if part != "body")
        inner = (text for key in WORDS if key in value for text in _texts(value[key], depth - 1))
        yield from (f"{place}: {text}" if place else text for text in inner)


def _fields(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, list) and depth:
        for item in value[:MOST]:
            yield from _fields(item, depth - 1)
    elif isinstance(value, dict) and depth:
        named = value.get(FIELD)
        yield from [named] if isinstance(named, str) else []
        yield from (part for part in _place(value) if isinstance(part, str))
        for key in WORDS:
            yield from _fields(value.get(key), depth - 1)


def _place(value: dict[str, object]) -> list[object]:
    place = value.get(PLACE)
    return place[:DEPTH] if isinstance(place, list) else []
