"""Shape cards from TOML files: shipped ones by name, the user's own by path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from trex.blender_assets.load import FOLDER
from trex.blender_assets.mesh import read_obj
from trex.foundation.errors import InputError
from trex.foundation.fields import first_problem
from trex.foundation.files import MIB, from_home, read_text, shown
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_toml
from trex.query.schema import Name, Section
from trex.scenes.vocabulary import OUTLINES, ShapeCard

SHIPPED = FOLDER / "shapes"
CARD_LIMIT = MIB
ROUNDING = 1e-3
MAX_SIDES = 500  # of a mesh's hull: drawing a scene with such an object takes some tenths of a second more
Plane = tuple[float, float, float, float]
Vertices = NDArray[np.float64]


class CardFile(Section):
    """The fields of a card; `mesh` is an OBJ file in the card's folder or below: half extent 1, around the origin."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")
    plural: Name = ""
    nouns: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    outline: Name = "mesh"
    mesh: Name
    licence: Annotated[str, Field(max_length=2000)] = ""
    made_by: Annotated[str, Field(max_length=2000)] = ""


def shipped_names() -> tuple[str, ...]:
    """The names of the shipped shapes."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def named_card(name: str, query_dir: Path) -> str:
    """The same card for a query in any folder: a shipped shape's name, or an absolute path."""
    return name if name in shipped_names() else str(_resolved(query_dir, name))


def read_card(name: str, query_dir: Path) -> ShapeCard:
    """The card of a shipped shape ("cone"), or of a TOML file at a path relative to `query_dir`."""
    if name in shipped_names():
        return _read(SHIPPED / f"{name}.toml")
    path = _resolved(query_dir, name)
    try:
        path.stat()
    except OSError as error:
        shipped = ", ".join(shipped_names())
        why = (
            "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        )
        raise InputError(
            f"introduce {short(name)} is neither a shipped shape ({shipped}) nor a shape card: {shown(path)} {why}"
        ) from error
    return _read(path)


def _read(path: Path) -> ShapeCard:
    try:
        table = parse_toml(read_text(path, limit=CARD_LIMIT), str(path))
        card = CardFile.model_validate(table)
    except InputError as error:
        raise InputError(f"shape card {path} cannot be read: {error}") from error
    except ValidationError as error:
        key, message = first_problem(error)
        keys = ", ".join(CardFile.model_fields)
        raise InputError(f"shape card {path}: {key}: {message} (keys: {keys})") from error
    if card.outline not in OUTLINES:
        raise InputError(f"shape card {path}: outline {card.outline!r} is not known ({', '.join(OUTLINES)})")
    mesh = _mesh_path(path, card.mesh)
    vertices = _vertices(mesh, path)
    hull = _hull(vertices, mesh) if card.outline == "mesh" else ()
    name = card.mesh if path.parent == SHIPPED else str(mesh)
    nouns = card.nouns or (card.name,)
    return ShapeCard(card.name, card.plural or f"{card.name}s", card.outline, name, nouns, hull)


def _resolved(folder: Path, name: str) -> Path:
    """The path of a name in a folder, with links followed."""
    try:
        return (folder / from_home(Path(name))).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a cycle of links, a NUL byte
        raise InputError(
            f"{short(name)} is not a file path ({error}); give a path relative to the query"
        ) from error


def _mesh_path(card: Path, name: str) -> Path:
    """The path of a card's mesh; cards are untrusted, so it must lie in the card's folder."""
    mesh = _resolved(card.parent, name)
    if Path(name).is_absolute() or ".." in Path(name).parts or not mesh.is_relative_to(card.parent.resolve()):
        raise InputError(
            f"shape card {card}: mesh {short(name)} is outside the card's folder; put the OBJ file into that folder "
            'and give its name, e.g. mesh = "pyramid.obj"'
        )
    return mesh


def _vertices(mesh: Path, card: Path) -> Vertices:
    """The vertices (n, 3) of an OBJ file, which must fill the cube from -1 to 1 as CLEVR's shapes do."""
    try:
        found = read_obj(mesh).vertices
    except InputError as error:
        raise InputError(f"shape card {card}: {error}") from error
    if np.abs(found).max() > 1 + ROUNDING or found[:, 2].min() > -1 + 0.05:
        low, high = found.min(axis=0).round(3).tolist(), found.max(axis=0).round(3).tolist()
        raise InputError(
            f"shape card {card}: mesh {mesh} extends from {low} to {high}; scale and move it to stand on z = -1 "
            "inside the cube from -1 to 1, z up"
        )
    return found


def _hull(vertices: Vertices, mesh: Path) -> tuple[Plane, ...]:
    """The half spaces a x + b y + c z <= d of the convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        rows = np.unique(ConvexHull(vertices).equations.round(9), axis=0)
    except QhullError as error:
        raise InputError(f"mesh {mesh} is flat: its convex hull has no volume") from error
    if len(rows) > MAX_SIDES:
        raise InputError(
            f"mesh {mesh} has a convex hull of {len(rows):,} sides, at most {MAX_SIDES}: each takes its time in every "
            'scene that is drawn; simplify the mesh, or give outline = "sphere", "cylinder" or "cone"'
        )
    return tuple((float(a), float(b), float(c), float(-d)) for a, b, c, d in rows)
