"""Large JSON files of the form {..., "scenes": [...]}: reads them item by item, writes them atomically."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from trex.foundation.errors import InputError
from trex.foundation.files import open_regular, replacing
from trex.foundation.parse import check_depth, finite_number, whole_number

CHUNK = 1 << 20  # characters read at a time; an item may be longer
LARGEST_ITEM = 16 * CHUNK  # characters; a scene of CLEVR's has some 4,000


def read_items(path: Path, key: str) -> Iterator[object]:
    """The items of the list under `key`, one at a time; InputError if the file is missing or truncated."""
    try:
        with open_regular(path) as data:
            yield from _Reader(io.TextIOWrapper(data, encoding="utf-8")).items_of(key)
    except (ValueError, RecursionError) as error:
        message = f"{path} is not a JSON file with a list {key!r}: {str(error) or 'nested too deep'}"
        raise InputError(f"{message}; if it is truncated, get or write it again") from error


def write_items(path: Path, key: str, items: Iterable[object], info: Mapping[str, object]) -> int:
    """Write {"info": info, key: [items]} to a temporary name and rename it; return the number of items."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as data:
            stream = io.TextIOWrapper(data, encoding="utf-8", write_through=True)
            count = _write(stream, key, items, info)
            stream.detach()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}; nothing was changed") from error
    return count


def _write(stream: TextIO, key: str, items: Iterable[object], info: Mapping[str, object]) -> int:
    stream.write(f'{{"info": {json.dumps(dict(info))}, {json.dumps(key)}: [')
    count = 0
    for item in items:
        stream.write((",\n" if count else "\n") + json.dumps(item, allow_nan=False))
        count += 1
    stream.write("\n]}\n")
    return count


class _Reader:
    """A pull parser for one level of a JSON object; the json module parses the levels below."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder(
            parse_constant=_refuse, parse_float=finite_number, parse_int=whole_number
        )

    def items_of(self, key: str) -> Iterator[object]:
        found = False
        self._expect("{")
        while self._peek() != "}":
            name = self._value()
            self._expect(":")
            if name == key and not found:
                found = True
                yield from self._items()
            else:
                self._value()
            if self._peek() != "}":
                self._expect(",")
        if not found:
            raise ValueError(f"there is no {key!r} in it")

    def _items(self) -> Iterator[object]:
        self._expect("[")
        while self._peek() != "]":
            yield self._value()
            if self._peek() != "]":
                self._expect(",")
        self._expect("]")

    def _peek(self) -> str:
        """The next character that is not a space."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise ValueError("it ends in the middle of a value")

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise ValueError(f"expected {character!r}, found {self._text[self._at : self._at + 20]!r}")
        self._at += 1

    def _value(self) -> object:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at > LARGEST_ITEM:
                    raise ValueError(f"an item is longer than {LARGEST_ITEM >> 20} MiB") from None
                if not self._more():
                    raise
                continue
            check_depth(value)
            # A number at the end of the buffer may continue in the next chunk.
            if end < len(self._text) or not self._more():
                self._at = end
                return value

    def _more(self) -> bool:
        chunk = self._stream.read(max(CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a JSON number")
