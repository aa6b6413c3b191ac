"""The folder of all runs; imports nothing slow, so that the command line can show it."""

from __future__ import annotations

from pathlib import Path

RUNS = Path("runs")  # where runs are kept if nothing else is said
