"""How large a folder of kept pictures may become: 10 GiB, or what TREX_CACHE_MAX says."""

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
KEPT = 0.9  # of the bound when it is passed, so that not every picture afterwards deletes another
LOOKS = 20  # at least so many times until as much was written as the bound: other programs write too


def parse_size(text: str, name: str) -> int:
    """Bytes in a text such as 10G or 500M (units of 1,024); `name` says what was given, if it is no size."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{name} {text[:40]!r} is no size; give bytes, or a number with K, M, G or T, e.g. 10G"
        )
    return int(float(found[1]) * UNITS[found[2].upper()])


def max_bytes() -> int:
    """The bound of this user's caches."""
    return parse_size(os.environ.get(VARIABLE) or DEFAULT, VARIABLE)


class Bound:
    """Keeps a folder below the bound: what was used longest ago goes first."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.max_bytes = folder, max_bytes()
        self._room = 0  # bytes that may be written before the folder is looked at

    def added(self, size: int) -> None:
        """So many bytes were written; deletes others if there are too many."""
        self._room -= size
        if self._room < 0:
            self._room = min(self._make_room(), self.max_bytes // LOOKS)

    def _make_room(self) -> int:
        try:
            looked = prune(self.folder, self.max_bytes)
            if looked.gone.entries:
                looked = prune(self.folder, int(KEPT * self.max_bytes))
                log.info("the picture cache %s reached its %d MiB", self.folder, self.max_bytes >> 20)
        except OSError as error:
            log.warning("the picture cache %s cannot be made smaller (%s)", self.folder, error)
            return self.max_bytes
        return self.max_bytes - looked.left.size
