"""Formats percentages and worlds for pages and terminal."""

from __future__ import annotations

from trex.foundation.words import percent, signed_points
from trex.inference.statistics.proportion import Proportion
from trex.query.schema import Query
from trex.worlds.registry import world_named


def rate_words(rate: Proportion) -> str:
    """A rate with its interval: "3 of 88, 3.4% (95% CI 0.71–9.6%)"; after zero hits only the upper bound."""
    if not rate.of:
        return "0 of 0"
    if rate.count == 0:
        return f"0 of {rate.of} (95%: less than {rate.ceiling})"
    return f"{rate.count} of {rate.of}, {percent(rate.value)} (95% CI {rate.range})"


def points(change: float) -> str:
    """A difference of two shares in percentage points, with its sign: "−89.3 points"."""
    return f"{signed_points(change)}\u00a0points"


def world_words(query: Query) -> str:
    """The query's world: "5 objects, no cube, cone introduced"."""
    return world_named(query.generator.name).scope(query)
