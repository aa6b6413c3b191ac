"""CLEVR's lights and ground as numbers: measured on the base scene of clevr-dataset-gen, as Blender 4.5 reads it."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Lamp:
    """A square area light that faces the origin; size in Blender units, energy in watts, color linear RGB."""

    name: str
    location: Vec3
    size: float
    energy: float
    color: Vec3


LAMPS = (
    Lamp("Key", (6.44671, -2.90517, 4.2584), 0.5, 78.539818, (1.0, 0.932309, 0.816664)),
    Lamp("Fill", (-4.67112, -4.0136, 3.01122), 0.5, 23.561945, (0.761666, 0.81772, 1.0)),
    Lamp("Back", (-1.1685, 2.64602, 5.81574), 1.0, 39.269909, (1.0, 1.0, 1.0)),
)
SUN_ROTATION, SUN_ENERGY, SUN_ANGLE = (0.236028, 0.41688, 0.097079), 0.45, 0.199337
SUN_LOCATION = (11.6608, -6.628, 25.8232)

GROUND_LOCATION, GROUND_TURN, GROUND_DEPTH = (-24.06276, -17.99667, 0.0), 2.697982, 56.485
# The wall curve is a Bezier curve of degree 4 in the ground's own x and z.
GROUND_CURVE = ((-23.5557, 0.0), (-0.4271, 0.0), (1.5413, 0.0), (2.2163, 0.0), (4.0812, 23.2149))
GROUND_ROWS, GROUND_COLUMNS = 96, 2


def wall_curve(rows: int) -> NDArray[np.float64]:
    """(rows + 1, 2): the ground's profile, x and z in its own frame."""
    t = np.linspace(0.0, 1.0, rows + 1)[:, None]
    degree = len(GROUND_CURVE) - 1
    weights = [comb(degree, k) * t**k * (1.0 - t) ** (degree - k) for k in range(degree + 1)]
    curve: NDArray[np.float64] = np.concatenate(weights, axis=1) @ np.asarray(GROUND_CURVE)
    return curve
