"""Large JSON files of the form {..., "scenes": [...]}: reads them item by item, writes them atomically."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from trex.foundation.errors import InputError
from trex.foundation.files import open_regular, replacing, shown, text_encoding
from trex.foundation.json_fields import short
from trex.foundation.parse import check_parsed, finite_number, whole_number

CHUNK = 1 << 20  # characters read at a time; an item may be longer
LARGEST_ITEM = 16 * CHUNK  # characters; a scene of CLEVR's has some 4,000
MAX_KEYS = 100  # of a record; a scene of CLEVR's has six
MARKS = {"scenes": "objects", "questions": "question"}  # a key that each item of the list has


def read_items(path: Path, key: str, inside: Path | None = None) -> Iterator[object]:
    """The items of the list under `key`, one at a time; InputError if the file is missing or truncated.

    The list may also stand alone, and scenes and questions may come as one record a file or as JSON Lines; of a
    `.jsonl`, a last line that is cut off is still being written, and is left out. For `inside` see `read_bytes`.
    """
    try:
        with open_regular(path, inside=inside) as data:
            encoding = text_encoding(data.read(4))
            data.seek(0)
            reader = _Reader(io.TextIOWrapper(data, encoding=encoding))
            yield from reader.lines(key) if path.suffix.lower() == ".jsonl" else reader.items_of(key)
    except InputError:  # which is a ValueError
        raise
    except (ValueError, RecursionError) as error:
        message = f"{shown(path)} is not a JSON file with a list {key!r}: {str(error) or 'nested too deep'}"
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
        self._length = 0  # of the last value, in characters
        self._decoder = json.JSONDecoder(
            parse_constant=_refuse, parse_float=finite_number, parse_int=whole_number
        )

    def items_of(self, key: str) -> Iterator[object]:
        if self._peek() == "[":
            is_empty = True
            for item in self._items():
                is_empty = False
                yield _marked(item, key)
            if is_empty:
                raise ValueError("expected '{', found an empty list")
            return
        record: dict[str, object] = {}
        found, size = False, 0
        for name in self._keys():
            if name == key and not found:
                found = True
                yield from self._items()
            else:
                value = self._value()
                size += self._length
                if len(record) < MAX_KEYS:
                    record[name] = value if size <= LARGEST_ITEM else None
        if found:
            return
        yield _marked(record, key)
        while self._next():
            yield _marked(self._value(), key)

    def lines(self, key: str) -> Iterator[object]:
        """A record a line."""
        while self._next():
            try:
                value = self._value()
            except json.JSONDecodeError:
                if "\n" in self._text[self._at :]:
                    raise
                return  # still being written
            yield _marked(value, key)

    def _keys(self) -> Iterator[str]:
        """The keys of an object; the caller reads the value of each."""
        self._expect("{")
        while self._peek() != "}":
            name = self._value()
            if not isinstance(name, str):
                raise ValueError(f"expected a key, found {short(name)}")
            self._expect(":")
            yield name
            if self._peek() != "}":
                self._expect(",")
        self._expect("}")

    def _items(self) -> Iterator[object]:
        self._expect("[")
        while self._peek() != "]":
            yield self._value()
            if self._peek() != "]":
                self._expect(",")
        self._expect("]")

    def _peek(self) -> str:
        """The next character that is not a space; ValueError at the end."""
        found = self._next()
        if not found:
            raise ValueError("it ends in the middle of a value")
        return found

    def _next(self) -> str:
        """The next character that is not a space, "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

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
            check_parsed(value, self._text[self._at : end])
            # A number at the end of the buffer may continue in the next chunk.
            if end < len(self._text) or not self._more():
                self._at, self._length = end, end - self._at
                return value

    def _more(self) -> bool:
        chunk = self._stream.read(max(CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)


def _marked(record: object, key: str) -> object:
    """A record that stands by itself; ValueError if it is something else than the list's items are."""
    mark = MARKS.get(key)
    if mark is None or not isinstance(record, dict) or mark not in record:
        there = ", ".join(map(repr, record)) if isinstance(record, dict) else short(record)
        raise ValueError(f"there is no {key!r} in it, but {there[:200] or 'nothing'}")
    return record


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a JSON number")
