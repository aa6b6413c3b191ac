"""Records the sha256 of files whose publisher gives none, and checks it ever after."""

from __future__ import annotations

import json
from pathlib import Path

from trex.artifacts.card import write_whole
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import is_missing, read_text
from trex.foundation.parse import parse_json

FILE = "sha256.json"


def check_recorded(folder: Path, name: str, sha256: str) -> bool:
    """Record or check the sha256; return whether it is new, raise InputError if it differs from the recorded one."""
    path = folder / FILE
    known = _read(path)
    if known.get(name, sha256) != sha256:
        raise InputError(
            f"{name} is not the file that was used first: its sha256 is {sha256}, {path} says {known[name]}; "
            f"find out which is right, and if it is the new one, take {name} out of {path}"
        )
    if name in known:
        return False
    try:
        write_whole(path, (json.dumps({**known, name: sha256}, indent=1, sort_keys=True) + "\n").encode())
    except RunError as error:
        raise RunError(f"{error}; no sha256 was recorded") from error
    return True


def _read(path: Path) -> dict[str, str]:
    try:
        known = parse_json(read_text(path), str(path))
    except InputError as error:
        if is_missing(error):
            return {}
        raise InputError(f"{error}; correct it, or delete it and the values are recorded again") from error
    if not isinstance(known, dict) or not all(isinstance(value, str) for value in known.values()):
        raise InputError(
            f"{path} must map file names to sha256 values; correct it, or delete it and the values are recorded again"
        )
    return known
