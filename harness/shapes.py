"""Shape cards from TOML files: those shipped, by name, and the user's own, by path."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from blender_assets.load import FOLDER
from blender_assets.mesh import read_obj
from foundation.errors import InputError
from harness.query import Section
from scenes.vocabulary import OUTLINES, ShapeCard

SHIPPED = FOLDER / "shapes"
ROUNDING = 1e-3
Plane = tuple[float, float, float, float]
Vertices = NDArray[np.float64]


class CardFile(Section):
    """What a card says; `mesh` is the path of an OBJ file from the card: half extent 1, around the origin."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    plural: str = ""
    nouns: tuple[str, ...] = ()
    outline: str = "mesh"
    mesh: str
    licence: str = ""
    made_by: str = ""


def shipped_names() -> tuple[str, ...]:
    """The names of the shapes shipped here."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def read_card(which: str, beside: Path) -> ShapeCard:
    """The card of a shipped shape ("cone"), or in a TOML file whose path starts from the folder `beside`."""
    if which in shipped_names():
        return _read(SHIPPED / f"{which}.toml")
    path = (beside / which).resolve()
    if not path.is_file():
        shipped = ", ".join(shipped_names())
        raise InputError(
            f"introduce {which!r} is no shape shipped here ({shipped}) and no card: {path} is not there"
        )
    return _read(path)


def _read(path: Path) -> ShapeCard:
    try:
        card = CardFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"shape card {path} cannot be read: {error}") from error
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        keys = ", ".join(CardFile.model_fields)
        raise InputError(f"shape card {path}: {detail['loc'][0]}: {detail['msg']} (keys: {keys})") from error
    if card.outline not in OUTLINES:
        raise InputError(f"shape card {path}: outline {card.outline!r} is not known ({', '.join(OUTLINES)})")
    mesh = (path.parent / card.mesh).resolve()
    vertices = _vertices(mesh, path)
    hull = _hull(vertices, mesh) if card.outline == "mesh" else ()
    name = card.mesh if path.parent == SHIPPED else str(mesh)
    nouns = card.nouns or (card.name,)
    return ShapeCard(card.name, card.plural or f"{card.name}s", card.outline, name, nouns, hull)


def _vertices(mesh: Path, card: Path) -> Vertices:
    """(n, 3) the vertices of an OBJ file that fills the cube from -1 to 1, as CLEVR's shapes do."""
    try:
        found = read_obj(mesh).vertices
    except InputError as error:
        raise InputError(f"shape card {card}: {error}") from error
    if np.abs(found).max() > 1 + ROUNDING or found[:, 2].min() > -1 + 0.05:
        low, high = found.min(axis=0).round(3).tolist(), found.max(axis=0).round(3).tolist()
        raise InputError(
            f"shape card {card}: mesh {mesh} reaches from {low} to {high}; scale and move it to stand on z = -1 "
            "within the cube from -1 to 1, z up"
        )
    return found


def _hull(vertices: Vertices, mesh: Path) -> tuple[Plane, ...]:
    """The half spaces a x + b y + c z <= d of the convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        rows = np.unique(ConvexHull(vertices).equations.round(9), axis=0)
    except QhullError as error:
        raise InputError(f"mesh {mesh} is flat: it has no convex hull of any volume") from error
    return tuple((float(a), float(b), float(c), float(-d)) for a, b, c, d in rows)
