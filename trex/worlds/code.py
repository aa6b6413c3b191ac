"""Loads the objects in modules that a query names (`trex.query.code`); light, so that a query without any stays so."""

from __future__ import annotations

from trex.query.code import code_of
from trex.query.schema import Query


def load_code(query: Query) -> None:
    """Import what a query names in modules, unless it is there; InputError if it cannot be, or is something else."""
    if named := code_of(query):
        from trex.worlds.own.names import load

        load(named)
