"""One figure a line, as JSON, so that any tool can read them."""

from __future__ import annotations

import json
import sys


def show(name: str, value: float, unit: str) -> float:
    """Print {"name", "value", "unit"} at once, and give the value back."""
    print(json.dumps({"name": name, "value": float(f"{value:.6g}"), "unit": unit}), flush=True)
    return value


def note(text: str) -> None:
    """Say on standard error what is being measured."""
    print(text, file=sys.stderr, flush=True)
