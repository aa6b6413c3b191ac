"""The files that a renderer's pictures depend on, and their hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trex.blender_assets.load import FOLDER
from trex.foundation.errors import InputError
from trex.foundation.files import read_bytes
from trex.scenes.vocabulary import Vocabulary


def mesh_paths(vocabulary: Vocabulary, folder: Path = FOLDER) -> tuple[tuple[str, str], ...]:
    """(shape, path of its mesh): a card's own path, or a file below `folder`/shapes; InputError if it is missing."""
    found: list[tuple[str, str]] = []
    for shape in vocabulary.shapes:
        mesh = Path(vocabulary.card(shape).mesh)
        places = [mesh] if mesh.is_absolute() else [folder / "shapes" / mesh, mesh]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            tried = " and ".join(map(str, places))
            raise InputError(f"no mesh of shape {shape!r} found: tried {tried}; correct the shape's card")
        found.append((shape, str(path.resolve())))
    return tuple(found)


def base_scene(folder: Path = FOLDER) -> str:
    path = folder / "base_scene.blend"
    if not path.is_file():
        raise InputError(f"no base scene at {path}; make it with `python -m trex.blender_assets.make_assets`")
    return str(path.resolve())


def file_sha256(path: str) -> str:
    return hashlib.sha256(read_bytes(Path(path))).hexdigest()


def hashed(meshes: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """(shape, path, sha256) of each mesh."""
    return tuple((shape, path, file_sha256(path)) for shape, path in meshes)


def assets_hash(meshes: tuple[tuple[str, str, str], ...], scene: str) -> str:
    """sha256 (hex, 16 characters) of the base scene and of each shape's name and mesh, as `hashed` read it."""
    digest = hashlib.sha256()
    for name, sha256 in (("base scene", file_sha256(scene)), *sorted((row[0], row[2]) for row in meshes)):
        digest.update(name.encode() + b"\0" + bytes.fromhex(sha256))
    return digest.hexdigest()[:16]
