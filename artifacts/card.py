"""Files of weights as bytes and their cards, checked by sha256: what needs no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import DATA_LIMIT, MIB, is_missing, read_bytes, replacing
from trex.foundation.parse import parse_json

Card = Mapping[str, object]
CARD_LIMIT = 4 * MIB  # CLEVR-Humans' card holds thousands of words


def sha256_of(data: bytes) -> str:
    """sha256 as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def check_sha256(path: Path, data: bytes, wanted: str) -> None:
    """Raise InputError unless the bytes have the published sha256."""
    found = sha256_of(data)
    if found != wanted:
        raise InputError(
            f"{path} has been changed or cut: its sha256 is {found}, it must be {wanted}; fetch or train it again"
        )


def card_path(weights: Path) -> Path:
    """The path of a weights file's card: beside it, ending in .json."""
    return weights.with_suffix(".json")


def read_card(weights: Path) -> Card:
    """The card of a weights file; InputError if it is missing or gives no sha256."""
    path = card_path(weights)
    try:
        card = parse_json(read_named(path, "card", CARD_LIMIT), f"card {path}")
    except InputError as error:
        raise InputError(f"{error}; fetch or train the model again") from error
    if not isinstance(card, dict) or not isinstance(card.get("sha256"), str):
        raise InputError(f"card {path} gives no sha256 of its weights; fetch or train the model again")
    return card


def read_named(path: Path, what: str, limit: int = DATA_LIMIT) -> bytes:
    """The bytes of a file that `what` names in errors; InputError if it is missing or longer than the limit."""
    try:
        return read_bytes(path, limit=limit)
    except InputError as error:
        if is_missing(error):
            raise InputError(
                f"{what} {path} is missing; `trex models list` names the models at hand"
            ) from error
        raise InputError(f"{what}: {error}") from error


def write_whole(path: Path, data: bytes) -> None:
    """Create the folder and write a file atomically; RunError if the disk fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as stream:
            stream.write(data)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror or error}; free some space or choose another folder"
        ) from error
