"""Shares and worlds in the words of pages and terminal."""

from __future__ import annotations

from trex.foundation.percent import percent as percent
from trex.query.schema import Query
from trex.worlds.registry import world_named


def percent_interval(low: float, high: float) -> str:
    """Both ends of an interval: "0.1 % to 5.4 %"."""
    return f"{percent(low)} to {percent(high)}"


def points(change: float) -> str:
    """A difference of two shares in percentage points, with its sign: "−89.3 points"."""
    return f"{100 * change:+.1f}".replace("-", "−") + "\u00a0points"


def world_words(query: Query) -> str:
    """The query's world: "5 objects, no cube, cone introduced"."""
    return world_named(query.generator.name).scope(query)
