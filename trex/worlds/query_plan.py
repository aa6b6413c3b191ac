"""Reads a query file and checks it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.query.toml_file import parse_query, read_text
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan


def check(path: Path, overrides: Sequence[str] = ()) -> Plan:
    """The plan for a query file, with every value checked; renders and writes nothing."""
    return make_plan(parse_query(read_text(path), str(path), overrides), path.parent)
