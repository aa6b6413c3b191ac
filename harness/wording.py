"""Shares and worlds as pages and the terminal say them."""

from __future__ import annotations

from pathlib import Path

from harness.query import Query


def percent(value: float) -> str:
    """0.1234 as "12.3 %"; small shares keep two digits, and below 0.01 % no more is said."""
    if 0 < value < 0.0001:
        return "< 0.01\u00a0%"
    if value == 0 or value >= 0.001:
        return f"{value:.1%}".replace("%", "\u00a0%")
    return f"{value * 100:.2g}\u00a0%"


def world_words(query: Query) -> str:
    """The query's world: "5 objects, no cube, cone introduced"."""
    low, high = query.scene.objects
    parts = [f"{low}" if low == high else f"{low} to {high}"]
    parts[0] += " object" if high == 1 else " objects"
    parts += [f"no {what}" for what in query.scene.revoke]
    return ", ".join(parts + [f"{Path(which).stem} introduced" for which in query.scene.introduce])
