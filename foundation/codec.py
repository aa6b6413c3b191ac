"""Dataclasses as JSON: one way to write them, to read them strictly, and to say what is damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from trex.foundation.errors import RunError, TrexError
from trex.foundation.fields import first_problem
from trex.foundation.files import TEXT_LIMIT, is_missing, read_text
from trex.foundation.parse import parse_json

T = TypeVar("T")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """The JSON of a dataclass whose annotations say what is valid; every bit of a float is kept.

    Reading converts nothing: a missing key or a value of another type is damage, which raises `error`; unknown keys
    are ignored.
    """

    of: type[T]
    error: type[TrexError] = RunError
    limit: int = TEXT_LIMIT  # bytes of a file

    def text(self, value: T) -> str:
        """The value as indented JSON."""
        return self._adapter.dump_json(value, indent=1).decode() + "\n"

    def line(self, value: T) -> bytes:
        return self._adapter.dump_json(value) + b"\n"

    def parse(self, text: str, where: str, remedy: str, check: Callable[[T], None] | None = None) -> T:
        """The value of a JSON text; `error` names `where`, the damage and the remedy.

        `check` raises ValueError if valid parts contradict each other.
        """
        try:
            parse_json(text, where)  # bounds on depth and numbers
            value = self._adapter.validate_json(text, strict=True)
            if check is not None:
                check(value)
        except (ValueError, TrexError) as problem:
            raise self.error(f"{where} is damaged ({_words(problem)}); {remedy}") from problem
        return value

    def read(
        self, path: Path, remedy: str, check: Callable[[T], None] | None = None, inside: Path | None = None
    ) -> T | None:
        """The value in a file, None if there is no such file; see `parse`, and `read_bytes` for `inside`."""
        try:
            text = read_text(path, limit=self.limit, error=self.error, inside=inside)
        except TrexError as problem:
            if is_missing(problem):
                return None
            raise self.error(f"{problem}; {remedy}") from problem
        return self.parse(text, str(path), remedy, check)

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.of)


def _words(problem: Exception) -> str:
    """The first fault on one line of at most 200 characters."""
    if isinstance(problem, ValidationError):
        key, message = first_problem(problem)
        return f"{key}: {message}"[:200] if key else message[:200]
    return " ".join(str(problem).split())[:200]
