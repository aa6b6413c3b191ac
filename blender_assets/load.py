"""Finds the assets and checks them against the manifest. Standard library only."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trex.foundation.errors import InputError
from trex.foundation.files import is_missing, read_bytes, read_text
from trex.foundation.json_fields import field, mapping
from trex.foundation.parse import parse_json

FOLDER = Path(__file__).resolve().parent
MANIFEST = FOLDER / "manifest.json"
REPAIR = "check it out again, or make it with `python -m trex.blender_assets.make_assets`"


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def read_manifest(folder: Path = FOLDER) -> dict[str, dict[str, str]]:
    """For each asset, by path in the folder: sha256, made_by, licence, and what it is."""
    path = folder / MANIFEST.name
    try:
        files = mapping(field(mapping(parse_json(read_text(path), str(path)), "it"), "files", "it"), "files")
        rows = {name: mapping(row, name) for name, row in files.items()}
        return {name: {key: str(value) for key, value in row.items()} for name, row in rows.items()}
    except InputError as error:
        if is_missing(error):
            raise InputError(f"the assets' manifest {path} is missing; {REPAIR}") from error
        raise InputError(f"the assets' manifest {path} cannot be read ({error}); {REPAIR}") from error


def verify_manifest(folder: Path = FOLDER) -> None:
    """Raises InputError where an asset is missing or is not the file that the manifest names."""
    for name, row in read_manifest(folder).items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"the assets' manifest names {name}, which lies outside its folder; {REPAIR}")
        if not path.is_file():
            raise InputError(f"asset {path} is missing; {REPAIR}")
        found = sha256(path)
        if found != row.get("sha256"):
            wanted = row.get("sha256")
            raise InputError(f"asset {path} has sha256 {found}, the manifest says {wanted}; {REPAIR}")
