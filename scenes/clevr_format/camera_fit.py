"""Recovers the camera offset of a CLEVR picture from the pixel positions in its scene file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.foundation.json_fields import field, listed, mapping, triple
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX, project
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.scene import Scene, Vec3

Floats = NDArray[np.float64]

# pixel_coords are rounded to whole pixels (standard deviation 1 / sqrt 12), their depth is not: this many Blender
# units weigh as much as a pixel. Depths of all 28 published scenes at hand fit within .003.
DEPTH_WIDTH = 0.01
# Larger errors cannot come from rounding, which leaves at most .53 px and .004 in 128 scenes, published and made.
MAX_ERROR_PX, MAX_ERROR_DEPTH = 1.0, 0.03


class CameraFit(NamedTuple):
    """The offset in Blender units, and the largest distance to a recorded pixel along x or y, and depth."""

    offset: Vec3
    error_px: float
    error_depth: float

    @property
    def explains(self) -> bool:
        """Whether a camera at this offset projects the objects to their recorded pixels, up to rounding."""
        return self.error_px <= MAX_ERROR_PX and self.error_depth <= MAX_ERROR_DEPTH


def fit_camera(points: Floats, pixels: Floats, width: int = WIDTH_PX, height: int = HEIGHT_PX) -> CameraFit:
    """The offset by least squares; points (N, 3) pixels (N, 3) as px, py, depth, N at least 1."""
    from scipy.optimize import least_squares

    if len(points) < 1 or points.shape != pixels.shape:
        raise InputError(f"{len(points)} points and {len(pixels)} pixel_coords; a fit needs equal numbers")

    def misfit(offset: Floats) -> Floats:
        seen = np.stack(project(points, _vec3(offset), width, height), axis=1)  # (N, 3)
        return np.asarray(seen - pixels, dtype=np.float64)

    weights = np.array([1.0, 1.0, 1.0 / DEPTH_WIDTH])
    found = least_squares(lambda offset: (misfit(offset) * weights).ravel(), np.zeros(3), x_scale=0.1)
    errors = np.abs(misfit(found.x)).max(axis=0)
    return CameraFit(_vec3(found.x), float(errors[:2].max()), float(errors[2]))


def fit_clevr_camera(
    data: object, where: str = "the scene", size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX)
) -> CameraFit:
    """The fit for one record of a CLEVR scenes file, from its 3d_coords and its pixel_coords in a picture of `size`."""
    points, pixels = coordinates(data, where)
    return fit_camera(points, pixels, *size)


def coordinates(data: object, where: str = "the scene") -> Floats:
    """(2, N, 3): the 3d_coords and the pixel_coords of the objects of a CLEVR scene record."""
    record = mapping(data, where)
    items = [mapping(item, where) for item in listed(field(record, "objects", where), f"{where}, objects")]
    rows = [_coordinates(item, f"{where}, object {i}") for i, item in enumerate(items)]
    return np.array([[row[part] for row in rows] for part in (0, 1)], dtype=np.float64).reshape(2, -1, 3)


def from_clevr_fitted(
    data: object,
    where: str = "the scene",
    size: tuple[int, int] = (WIDTH_PX, HEIGHT_PX),
) -> tuple[Scene, CameraFit]:
    """`from_clevr` with the recovered camera; the lights leave no trace in the file and stay at their base positions.

    Raises InputError if no camera explains the pixels: the scene cannot be rendered as it was.
    """
    scene, fit = from_clevr(data, where=where), fit_clevr_camera(data, where, size)
    if not fit.explains:
        raise InputError(
            f"{where} fits no camera: with the best one, an object is {fit.error_px:.1f} px (depth "
            f"{fit.error_depth:.2g}) from its pixel_coords, but rounding explains at most "
            f"{MAX_ERROR_PX:g} px ({MAX_ERROR_DEPTH:g}); its coordinates do not belong to its picture"
        )
    return replace(scene, nuisances=replace(scene.nuisances, camera=fit.offset)), fit


def _coordinates(item: Mapping[str, object], where: str) -> tuple[Vec3, Vec3]:
    return (
        triple(field(item, "3d_coords", where), f"{where}, 3d_coords"),
        triple(field(item, "pixel_coords", where), f"{where}, pixel_coords"),
    )


def _vec3(values: Floats) -> Vec3:
    x, y, z = (float(value) for value in values)
    return (x, y, z)
