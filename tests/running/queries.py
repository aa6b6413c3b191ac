"""Queries in files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.query.schema import Query
from trex.query.toml_file import parse_query, read_text


def read_query(path: Path, overrides: Sequence[str] = ()) -> Query:
    """The query in a TOML file, with `key=value` overrides (dotted keys, TOML values)."""
    return parse_query(read_text(path), str(path), overrides)
