"""Shares as every page and sentence prints them."""

from __future__ import annotations


def percent(value: float) -> str:
    """A share in percent: 0.1234 gives "12.3 %"; two digits below 1 %, and just "< 0.01 %" below that."""
    if 0 < value < 0.0001:
        return "< 0.01\u00a0%"
    if value == 0 or value >= 0.01:
        return f"{value:.1%}".replace("%", "\u00a0%")
    return f"{value * 100:.2g}\u00a0%"
