"""The cache of replies on disk: one small file each, by the hash of everything that was asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from trex.artifacts.cache import cache_root
from trex.clevr_models.chat.reply import Said
from trex.clevr_models.chat.request import MAX_TOKENS, TOP
from trex.clevr_models.interface.inputs import eight_bits
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, disk_error, read_bytes, write_atomic

FOLDER = "replies"
VERSION = 1  # of the request and of the stored form


@dataclass(frozen=True)
class ReplyStore:
    """Replies of all servers and models; several processes may read and write it."""

    folder: Path

    def read(self, key: str) -> Said | None:
        """The stored reply; None if there is none, or if its file is damaged."""
        try:
            return Said.model_validate_json(read_bytes(self._path(key), limit=MIB, follow_links=False))
        except (InputError, ValidationError):
            return None

    def write(self, key: str, said: Said) -> None:
        """Store a reply; RunError if the disk does not take it."""
        path = self._path(key)
        try:
            path.parent.mkdir(
                parents=True, exist_ok=True
            )  # make_folder would delete what threads write there
        except OSError as error:
            raise disk_error(error, path) from error
        write_atomic(path, said.model_dump_json().encode(), is_precious=False)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def default_store() -> ReplyStore:
    """The store in the user's cache."""
    return ReplyStore(cache_root() / FOLDER)


def reply_key(place: tuple[str, str, str], picture: NDArray[np.float32], sample: int | None) -> str:
    """sha256 of endpoint, model and prompt (`place`), of a picture's 8-bit pixels, and of the sample's number."""
    pixels = eight_bits(picture)
    asked = [VERSION, MAX_TOKENS, TOP, *place, sample, list(pixels.shape)]
    return hashlib.sha256(json.dumps(asked).encode() + b"\n" + pixels.tobytes()).hexdigest()
