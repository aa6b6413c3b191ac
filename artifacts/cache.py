"""The location of the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

PICTURES = Path("baselines") / "pictures"  # in the cache; `trex baseline` was the first command to keep some


def cache_root() -> Path:
    """`$TREX_CACHE`, or `~/.cache/bayes-trex`."""
    root = os.environ.get("TREX_CACHE")
    return Path(root) if root else Path.home() / ".cache" / "bayes-trex"


def pictures_folder() -> Path:
    """The folder of rendered pictures that several commands share, and that `trex cache prune` takes by default."""
    return cache_root() / PICTURES
