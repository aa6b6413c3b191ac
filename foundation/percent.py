"""Shares as every page and sentence says them."""

from __future__ import annotations


def percent(value: float) -> str:
    """0.1234 as "12.3 %"; shares below 1 % keep two digits, and below 0.01 % no more is said."""
    if 0 < value < 0.0001:
        return "< 0.01\u00a0%"
    if value == 0 or value >= 0.01:
        return f"{value:.1%}".replace("%", "\u00a0%")
    return f"{value * 100:.2g}\u00a0%"
