"""Shares as every page and sentence prints them."""

from __future__ import annotations


def percent(value: float) -> str:
    """A share in percent: 0.1234 gives "12.3%"; two digits below 1%, just "< 0.01%" below that, and "0%", "100%"."""
    if value in (0, 1):
        return whole_percent(value)
    if 0 < value < 0.0001:
        return "< 0.01%"
    if value >= 0.01:
        return f"{value:.1%}"
    return f"{value * 100:.2g}%"


def whole_percent(value: float) -> str:
    """A share in whole percent: .25 gives "25%"."""
    return f"{value:.0%}"


def percent_interval(low: float, high: float) -> str:
    """Both ends of an interval: "0.1% to 5.4%"."""
    return f"{percent(low)} to {percent(high)}"


def percent_span(low: float, high: float) -> str:
    """Both ends of an interval as a span: "0.19–0.96%"; "less than 0.01–0.5%" if the lower one prints as such."""
    first = percent(low).removesuffix("%").replace("<", "less than")
    return f"{first}–{percent(high)}"


def signed_points(change: float) -> str:
    """A difference of two shares in percentage points, with its sign and without the unit: "−89.3"."""
    return f"{100 * change:+.1f}".replace("-", "−")
