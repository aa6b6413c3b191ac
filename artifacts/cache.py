"""The location of the user's cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`$TREX_CACHE`, or `~/.cache/bayes-trex`."""
    root = os.environ.get("TREX_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "bayes-trex"
