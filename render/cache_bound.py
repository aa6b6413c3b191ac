"""The size limit of a cache folder: 10 GiB, or the value of TREX_CACHE_MAX."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from trex.foundation.errors import InputError
from trex.render.cache_folder import prune

log = logging.getLogger(__name__)
VARIABLE = "TREX_CACHE_MAX"
DEFAULT = "10G"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(?:I?B)?", re.ASCII | re.IGNORECASE)
KEPT = 0.9  # of the limit, after it is exceeded, so that not every further picture causes a deletion
LOOKS = 20  # checks, at least, while as much is written as the limit: other programs write too


def parse_size(text: str, name: str) -> int:
    """Bytes in a size such as 10G or 500M (units of 1,024); `name` names the setting in errors."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{name} {text[:40]!r} is not a size; give bytes, or a number with K, M, G or T, e.g. 10G"
        )
    return int(float(found[1]) * UNITS[found[2].upper()])


def max_bytes() -> int:
    return parse_size(os.environ.get(VARIABLE) or DEFAULT, VARIABLE)


class Bound:
    """Keeps a folder below the limit by deleting the least recently used pictures."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.max_bytes = folder, max_bytes()
        self._room = 0  # bytes until the next check of the folder

    def added(self, size: int) -> None:
        """Count bytes written; deletes old pictures if there are too many."""
        self._room -= size
        if self._room < 0:
            self._room = min(self._make_room(), self.max_bytes // LOOKS)

    def _make_room(self) -> int:
        try:
            pruned = prune(self.folder, self.max_bytes)
            if pruned.gone.entries:
                pruned = prune(self.folder, int(KEPT * self.max_bytes))
                log.info("the picture cache %s reached its %d MiB", self.folder, self.max_bytes >> 20)
        except OSError as error:
            log.warning("cannot shrink the picture cache %s (%s)", self.folder, error)
            return self.max_bytes
        return self.max_bytes - pruned.left.size
