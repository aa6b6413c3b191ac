"""Shares and worlds as pages and the terminal say them."""

from __future__ import annotations

from foundation.percent import percent as percent
from harness.kinds import kind_named
from harness.query import Query


def world_words(query: Query) -> str:
    """The query's world: "5 objects, no cube, cone introduced"."""
    return kind_named(query.generator.name).scope(query)
