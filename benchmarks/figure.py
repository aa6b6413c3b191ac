"""One figure a line, as JSON, so that any tool can read them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from statistics import median


def show(name: str, value: float, unit: str) -> float:
    """Print {"name", "value", "unit"} at once, and give the value back."""
    print(json.dumps({"name": name, "value": float(f"{value:.6g}"), "unit": unit}), flush=True)
    return value


def show_spread(name: str, values: Sequence[float], unit: str) -> float:
    """Print the least, the median (under the plain name) and the most; gives the median back."""
    show(f"{name}.min", min(values), unit)
    show(f"{name}.max", max(values), unit)
    return show(name, median(values), f"{unit}, median of {len(values)}")


def note(text: str) -> None:
    """Say on standard error what is being measured."""
    print(text, file=sys.stderr, flush=True)
