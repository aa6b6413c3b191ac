"""Reads Wavefront OBJ meshes: for Blender, for the analytic id map, and for a user's own shape.

Only geometry is read (v, vn, f); names, groups, texture coordinates and materials are skipped, and no other
file is ever opened, whatever the OBJ refers to. Format: https://www.loc.gov/preservation/digital/formats/fdd/fdd000507.shtml
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.foundation.files import read_bytes

MAX_BYTES = 32 * 1024 * 1024
MAX_VERTICES = 200_000
MAX_FACES = 200_000
MAX_CORNERS = 256  # of one face
MAX_COORDINATE = 1e6
SKIPPED = frozenset({"o", "g", "s", "vt", "vp", "usemtl", "mtllib", "l", "p"})


@dataclass(frozen=True)
class Mesh:
    """A polygon mesh: vertices (N, 3) in the object's own units, faces as indices from 0, seen from outside.

    corner_normals (sum of face lengths, 3), unit, one for each corner of each face in order; None where the
    file gives none.
    """

    vertices: NDArray[np.float64]
    faces: tuple[tuple[int, ...], ...]
    corner_normals: NDArray[np.float64] | None = None


def read_obj(path: Path) -> Mesh:
    """The mesh of an OBJ file.

    Raises InputError, naming file and line, where the file is missing, too large, or no valid mesh.
    """
    lines = _read_text(path).splitlines()
    vertices: list[tuple[float, float, float]] = []
    normals: list[tuple[float, float, float]] = []
    faces: list[tuple[int, ...]] = []
    corners: list[int] = []
    for number, line in enumerate(lines, start=1):
        words = line.split("#", 1)[0].split()
        if not words or words[0] in SKIPPED:
            continue
        where = f"{path.name}, line {number}"
        match words[0]:
            case "v":
                vertices.append(_triple(words[1:], where))
            case "vn":
                normals.append(_triple(words[1:], where))
            case "f":
                face, of_normals = _face(words[1:], len(vertices), len(normals), where)
                faces.append(face)
                corners.extend(of_normals)
            case other:
                raise InputError(f"{where}: {other!r} is not understood; an OBJ holds v, vn and f lines")
        _check_counts(len(vertices), len(faces), where)
    return _mesh(path, vertices, normals, faces, corners)


def _read_text(path: Path) -> str:
    try:
        return read_bytes(path, limit=MAX_BYTES).decode("ascii")
    except InputError as error:
        raise InputError(f"mesh {error}; name an OBJ file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"mesh {path} is no text (byte {error.start}); export it as OBJ") from error


def _triple(words: list[str], where: str) -> tuple[float, float, float]:
    if len(words) not in (3, 4, 6):  # a weight or a color may follow; neither is used
        raise InputError(f"{where}: {len(words)} numbers, 3 are needed")
    x, y, z = (_number(word, where) for word in words[:3])
    return x, y, z


def _number(word: str, where: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise InputError(f"{where}: {word[:40]!r} is not a number") from None
    if not math.isfinite(value) or abs(value) > MAX_COORDINATE:
        raise InputError(f"{where}: {word[:40]!r} is out of range, at most {MAX_COORDINATE:g} in size")
    return value


def _face(words: list[str], n_vertices: int, n_normals: int, where: str) -> tuple[tuple[int, ...], list[int]]:
    """Indices from 0 of the vertices of a face, and of its normals (all corners or none)."""
    if not 3 <= len(words) <= MAX_CORNERS:
        raise InputError(f"{where}: a face of {len(words)} corners; 3 to {MAX_CORNERS} are allowed")
    vertices, normals = [], []
    for word in words:
        parts = word.split("/")
        vertices.append(_index(parts[0], n_vertices, "vertex", where))
        if len(parts) > 2 and parts[2]:
            normals.append(_index(parts[2], n_normals, "normal", where))
    if len(set(vertices)) != len(vertices):
        raise InputError(f"{where}: a face names a vertex twice; remove the degenerate face")
    if normals and len(normals) != len(vertices):
        raise InputError(f"{where}: some corners have a normal and some do not; give all or none")
    return tuple(vertices), normals


def _index(word: str, count: int, kind: str, where: str) -> int:
    """An OBJ index (from 1, or negative from the end) as an index from 0."""
    try:
        index = int(word)
    except ValueError:
        raise InputError(f"{where}: {word[:40]!r} is no {kind} index") from None
    resolved = index - 1 if index > 0 else count + index
    if index == 0 or not 0 <= resolved < count:
        raise InputError(f"{where}: {kind} {index} does not exist; {count} are given above this line")
    return resolved


def _check_counts(n_vertices: int, n_faces: int, where: str) -> None:
    if n_vertices > MAX_VERTICES or n_faces > MAX_FACES:
        raise InputError(f"{where}: more than {MAX_VERTICES} vertices or {MAX_FACES} faces; simplify it")


def _mesh(
    path: Path,
    vertices: list[tuple[float, float, float]],
    normals: list[tuple[float, float, float]],
    faces: list[tuple[int, ...]],
    corners: list[int],
) -> Mesh:
    if not faces:
        raise InputError(f"mesh {path} has {len(vertices)} vertices and no face; export it with its faces")
    if corners and len(corners) != sum(map(len, faces)):
        raise InputError(f"mesh {path}: some faces have normals and some do not; give all or none")
    unit = None
    if corners:
        table = np.array(normals, dtype=np.float64)
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        if not np.all(lengths > 0):
            raise InputError(f"mesh {path}: a normal has length 0; export the normals again")
        unit = (table / lengths)[corners]
    return Mesh(np.array(vertices, dtype=np.float64), tuple(faces), unit)
