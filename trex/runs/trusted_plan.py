"""The plan for a query file, if what the file names is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex.query.toml_file import parse_query, read_text
from trex.runs.trust import check_query
from trex.worlds.registry import make_plan
from trex.worlds.world import Plan


def trusted_plan(path: Path, overrides: Sequence[str], own: Sequence[str]) -> Plan:
    """The plan for a query file, see `trex.worlds.query_plan`; of the overrides, `own` are the user's.

    InputError before anything that the file or the other overrides name is loaded, unless this user has trusted it.
    """
    query = parse_query(read_text(path), str(path), overrides)
    check_query(path, query, own)
    return make_plan(query, path.parent)
