"""CLEVR's camera as a pinhole: projects points of the world into the picture."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trex.scenes.scene import ZERO, Vec3

Floats = NDArray[np.float64]

# As Blender 4.5 reads CLEVR's base scene: location in Blender units; the camera tracks the origin (-Z, up Y).
POSITION: Vec3 = (7.48113, -6.50764, 5.34367)
FOCAL_MM = 35.0
SENSOR_MM = 32.0  # along the picture's longer side
WIDTH_PX, HEIGHT_PX = 480, 320  # size of the released CLEVR pictures


def axes(offset: Vec3 = ZERO) -> tuple[Floats, Floats]:
    """The camera's position (3,) and its axes as rows (3, 3): right, up, towards the viewer."""
    x, y, z = (base + shift for base, shift in zip(POSITION, offset, strict=True))
    ground, distance = math.hypot(x, y), math.sqrt(x * x + y * y + z * z)
    right = (-y / ground, x / ground, 0.0)
    up = (-z * x / (ground * distance), -z * y / (ground * distance), ground / distance)
    return np.array((x, y, z)), np.array((right, up, (x / distance, y / distance, z / distance)))


def focal_px(width: int) -> float:
    """Focal length in pixels of a picture that is wider than high."""
    return FOCAL_MM / SENSOR_MM * width


def project(
    points: Floats, offset: Vec3 = ZERO, width: int = WIDTH_PX, height: int = HEIGHT_PX
) -> tuple[Floats, Floats, Floats]:
    """Pixel x and y from the upper left corner, and depth in Blender units along the axis, of (N, 3) points."""
    position, rows = axes(offset)
    local = (np.asarray(points, dtype=np.float64) - position) @ rows.T
    depth = -local[:, 2]
    scale = focal_px(width) / depth
    return width / 2 + scale * local[:, 0], height / 2 - scale * local[:, 1], depth


@lru_cache(maxsize=8)
def ray_slopes(width: int, height: int) -> tuple[Floats, Floats]:
    """How far the rays through the pixels' centers go along the camera's right (width,) and up (height,); read-only.

    A ray's direction is slope times right, plus slope times up, minus the axis towards the viewer (`axes`).
    """
    focal = focal_px(width)
    across = (np.arange(width, dtype=np.float64) + 0.5 - width / 2) / focal
    up = (height / 2 - np.arange(height, dtype=np.float64) - 0.5) / focal
    across.flags.writeable = up.flags.writeable = False
    return across, up
