"""Prints what a command says: the one way to standard output, and that of its notes to standard error."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated

import typer

from trex.foundation.words import escaped_lines

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else, for machines.")
]


@dataclass(frozen=True)
class Printed:
    """The result of a verb that is only printed: a document for machines, a text, and the exit code."""

    data: object
    text: str
    code: int = field(default=0, kw_only=True)

    def document(self) -> object:
        """The result for machines."""
        return self.data

    def __str__(self) -> str:
        """The result for people."""
        return self.text


def print_result(document: object, words: str, as_json: bool) -> None:
    """Print the document on one line, or the text, to standard output."""
    print_text(json.dumps(document) if as_json else words)


def print_text(text: str) -> None:
    """Print the text to standard output, with what a terminal would carry out as escapes."""
    typer.echo(escaped_lines(text))


def note(text: str) -> None:
    """Print the text to standard error, see `print_text`."""
    typer.echo(escaped_lines(text), err=True)
