"""Prints a command's result: one JSON document, or words."""

from __future__ import annotations

import json
from typing import Annotated

import typer

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else, for machines.")
]


def tell_result(document: object, words: str, as_json: bool) -> None:
    """Print to standard output the document on one line, or the words."""
    typer.echo(json.dumps(document) if as_json else words)
