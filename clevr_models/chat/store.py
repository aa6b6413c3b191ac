"""The cache of replies on disk: one small file each, by the hash of everything that was asked.

Beside them, by the hash of who was asked, what was learnt of the fields that a server takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from trex.artifacts.cache import cache_root
from trex.clevr_models.interface.inputs import eight_bits
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, disk_error, read_bytes, write_atomic

M = TypeVar("M", bound=BaseModel)
FOLDER = "replies"
VERSION = 2  # of the request and of the stored form


@dataclass(frozen=True)
class ReplyStore:
    """Replies of all servers and models; several processes may read and write it."""

    folder: Path

    def read(self, key: str, kind: type[M]) -> M | None:
        """What is stored under this key, a reply or fields; None if there is nothing, or if its file is damaged."""
        try:
            return kind.model_validate_json(read_bytes(self._path(key), limit=MIB, follow_links=False))
        except (InputError, ValidationError):
            return None

    def write(self, key: str, value: BaseModel) -> None:
        """Store a reply, or fields."""
        path = self._path(key)
        try:
            path.parent.mkdir(
                parents=True, exist_ok=True
            )  # make_folder would delete what threads write there
        except OSError as error:
            raise disk_error(error, path) from error
        write_atomic(path, value.model_dump_json().encode(), is_precious=False)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def default_store() -> ReplyStore:
    return ReplyStore(cache_root() / FOLDER)


def place_key(place: Sequence[str]) -> str:
    """sha256 of who was asked, and how: what the fields that a server takes may depend on."""
    return hashlib.sha256(json.dumps(["fields", VERSION, *place]).encode()).hexdigest()


def reply_key(place: Sequence[str], picture: NDArray[np.float32], sample: int | None) -> str:
    """sha256 of where and what is sent (`place`), of a picture's 8-bit pixels, and of the sample's number.

    `sample` is None for log probabilities.
    """
    pixels = eight_bits(picture)
    request = [VERSION, *place, sample, list(pixels.shape)]
    return hashlib.sha256(json.dumps(request).encode() + b"\n" + pixels.tobytes()).hexdigest()
