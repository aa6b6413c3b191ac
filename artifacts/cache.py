"""The location of the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from trex.foundation.home import CACHE, own_folder

PICTURES = Path("baselines") / "pictures"  # in the cache; `trex baseline` was the first command to keep some


def cache_root() -> Path:
    """`$TREX_CACHE`, or `bayes-trex` in `$XDG_CACHE_HOME`, which is `~/.cache` if unset; see `foundation.home`."""
    root = os.environ.get("TREX_CACHE")
    return Path(root) if root else own_folder(CACHE)


def pictures_folder() -> Path:
    """The folder of rendered pictures that several commands share, and that `trex cache prune` takes by default."""
    return cache_root() / PICTURES
