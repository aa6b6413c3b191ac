"""Prints a command's result as one JSON document or as text."""

from __future__ import annotations

import json
from typing import Annotated

import typer

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else, for machines.")
]


def print_result(document: object, words: str, as_json: bool) -> None:
    """Print the document on one line, or the text, to standard output."""
    typer.echo(json.dumps(document) if as_json else words)
