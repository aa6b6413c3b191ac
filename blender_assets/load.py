"""Finds the assets and checks them against the manifest. Standard library only."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from foundation.errors import InputError

FOLDER = Path(__file__).resolve().parent
MANIFEST = FOLDER / "manifest.json"
BASE_SCENE = FOLDER / "base_scene.blend"
REPAIR = "check it out again, or make it with `python -m blender_assets.make_assets`"


def shape_path(mesh: str) -> Path:
    """Where a shape card's mesh lies: our own shapes by file name ("cube.obj"), a user's by absolute path."""
    path = Path(mesh)
    return path if path.is_absolute() else FOLDER / "shapes" / path.name


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_manifest(folder: Path = FOLDER) -> dict[str, dict[str, str]]:
    """For each asset, by path in the folder: sha256, made_by, licence, and what it is."""
    path = folder / MANIFEST.name
    try:
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {str(name): {str(k): str(v) for k, v in row.items()} for name, row in files.items()}
    except FileNotFoundError as error:
        raise InputError(f"the assets' manifest {path} is missing; {REPAIR}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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
