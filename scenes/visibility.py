"""Which object is visible at each pixel, by casting rays at ideal shapes: needs no renderer.

Edges are not rounded here and a mesh counts as its convex hull. This map defines which scenes are valid; the
renderer's own object-index pass is stored with each picture, and disagreements are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trex.scenes.camera import HEIGHT_PX, WIDTH_PX, Floats, axes, project, ray_slopes
from trex.scenes.properties import RADIUS
from trex.scenes.scene import Scene, SceneObject, Vec3
from trex.scenes.vocabulary import ShapeCard, Vocabulary

ROUND = ("sphere", "cylinder", "cone")  # outlines that reach no further than 1 in any direction on the ground
Layer = tuple[
    slice, slice, Floats
]  # rows and columns of the picture, and the distance (h, w) to an object there
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (0, 2)], dtype=np.float64)
CUBE_PLANES = np.array(
    [(1, 0, 0, 1), (-1, 0, 0, 1), (0, 1, 0, 1), (0, -1, 0, 1), (0, 0, 1, 1), (0, 0, -1, 1)], dtype=np.float64
)


def id_map(
    scene: Scene, vocabulary: Vocabulary, width: int = WIDTH_PX, height: int = HEIGHT_PX
) -> NDArray[np.uint8]:
    """The id map (height, width): 0 for background, i + 1 for object i."""
    return _merged(_layers(scene, vocabulary, width, height), width, height)


def id_map_and_alone(
    scene: Scene, vocabulary: Vocabulary
) -> tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]:
    """The id map, at 480 x 320, and for each object the ids (k,) that it has where the object would be seen alone."""
    layers = list(_layers(scene, vocabulary, WIDTH_PX, HEIGHT_PX))
    ids = _merged(layers, WIDTH_PX, HEIGHT_PX)
    return ids, [ids[rows, columns][distance < np.inf] for rows, columns, distance in layers]


def _layers(scene: Scene, vocabulary: Vocabulary, width: int, height: int) -> Iterator[Layer]:
    """Where each object might be seen, and its distance there."""
    position, basis = axes(scene.nuisances.camera)
    across, up = ray_slopes(width, height)
    for item in scene.objects:
        card = vocabulary.card(item.shape)
        window = picture_window(item, card, scene.nuisances.camera, width, height)
        top, bottom, left, right = window or (0, 0, 0, 0)
        rows, columns = slice(top, bottom), slice(left, right)
        yield rows, columns, _distance(item, card, position, basis, across[columns], up[rows])


def _merged(layers: Iterable[Layer], width: int, height: int) -> NDArray[np.uint8]:
    ids = np.zeros((height, width), dtype=np.uint8)
    nearest = np.full((height, width), np.inf)
    for number, (rows, columns, distance) in enumerate(layers, start=1):
        closer = distance < nearest[rows, columns]
        nearest[rows, columns][closer] = distance[closer]
        ids[rows, columns][closer] = number
    return ids


@lru_cache(maxsize=2048)  # a proposed scene is asked about several times: drawn, weighed, checked
def visible_pixels(scene: Scene, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """The number of visible pixels (n,) of each object, at 480 x 320; read-only."""
    counts = np.bincount(id_map(scene, vocabulary).ravel(), minlength=len(scene.objects) + 1)[1:]
    counts = counts.astype(np.int64)
    counts.flags.writeable = False
    return counts


def picture_window(
    item: SceneObject, card: ShapeCard, camera: Vec3, width: int, height: int
) -> tuple[int, int, int, int] | None:
    """Rows and columns (top, bottom, left, right; ends excluded) that contain the object's image."""
    radius = RADIUS[item.size]
    reach = radius if card.outline in ROUND else radius * math.sqrt(2.0)
    corners = CORNERS * (reach, reach, radius) + (item.x, item.y, 0.0)
    px, py = (each.tolist() for each in project(corners, camera, width, height)[:2])
    left, right = max(0, math.floor(min(px))), min(width, math.ceil(max(px)) + 1)
    top, bottom = max(0, math.floor(min(py))), min(height, math.ceil(max(py)) + 1)
    return (top, bottom, left, right) if top < bottom and left < right else None


def _distance(
    item: SceneObject, card: ShapeCard, position: Floats, basis: Floats, across: Floats, up: Floats
) -> Floats:
    """Distance (h, w) along each ray to the object, inf if the ray misses it.

    The camera is outside of and above every object, so only its near side and the top can be visible.
    """
    radius = RADIUS[item.size]
    cos, sin = math.cos(item.rotation), math.sin(item.rotation)
    turn = np.array([(cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)])  # columns: the object's axes
    start = (position - (item.x, item.y, radius)) @ turn / radius
    rays = _Rays(start, basis @ (turn / radius), across, up[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        if card.outline == "sphere":
            return _first(*rays.quadratic(1.0, -1.0))
        if card.outline == "cylinder":
            return _cylinder(rays)
        if card.outline == "cone":
            return _cone(rays)
        return _convex(rays, CUBE_PLANES if card.outline == "cube" else np.asarray(card.hull))


class _Rays:
    """Rays of a window of the picture in an object's own units: x = start + t heading.

    A heading is `across` (w,) times the camera's right, plus `up` (h, 1) times its up, minus its third axis. What is
    linear in it is a column plus a row. The camera's right is level, so that its length along the ground is, too:
    squared, a column plus a row.
    """

    def __init__(self, start: Floats, basis: Floats, across: Floats, up: Floats) -> None:
        self.start, self._basis, self._across, self._up = start, basis, across, up
        self.rise = up * basis[1, 2] - basis[2, 2]  # (h, 1): the headings' third component

    def slopes(self, directions: Floats) -> list[list[float]]:
        """For each of (k, 3) directions its components along the camera's right, up and third axis."""
        found: list[list[float]] = (directions @ self._basis.T).tolist()
        return found

    def along(self, slopes: Sequence[float]) -> Floats:
        """(h, w), or (h, 1) for a vertical direction: the headings' component along a direction, by its slopes."""
        right, above, back = slopes
        column: Floats = self._up * above - back
        return column if right == 0.0 else column + self._across * right

    def quadratic(self, weight: float, level: float) -> tuple[Floats, Floats, float]:
        """a, b (h, w) and c of a t^2 + 2 b t + c = p_x^2 + p_y^2 + weight p_z^2 + level, at p = start + t heading."""
        x, y, z = map(float, self.start)
        size = float(self._basis[0] @ self._basis[0])  # the square of each axis, as all are one length
        a = size * (1.0 + self._up * self._up) + (weight - 1.0) * self.rise * self.rise
        (slopes,) = self.slopes(np.array([(x, y, weight * z)]))
        return (
            a + self._across * self._across * size,
            self.along(slopes),
            x * x + y * y + weight * z * z + level,
        )


def _first(a: Floats, b: Floats, c: float) -> Floats:
    """The first t > 0 at which a t^2 + 2 b t + c is 0, for a > 0 and c > 0 (from outside); inf if there is none."""
    t = (-b - np.sqrt(b * b - a * c)) / a
    return np.where(t > 0, t, np.inf)  # NaN, where there is none, is not > 0


def _cylinder(rays: _Rays) -> Floats:
    """Distance to the cylinder of radius 1 between z = -1 and z = 1."""
    a, b, c = rays.quadratic(0.0, -1.0)
    side = _first(a, b, c)
    above = float(rays.start[2])
    side[~(np.abs(above + side * rays.rise) <= 1.0)] = np.inf
    top = (1.0 - above) / rays.rise  # (h, 1)
    is_top = (top > 0) & ((a * top + 2.0 * b) * top + c <= 0.0)
    return np.minimum(side, np.where(is_top, top, np.inf))


def _cone(rays: _Rays) -> Floats:
    """Distance to the cone x^2 + y^2 = ((1 - z) / 2)^2 between the base at z = -1 and the apex at z = 1."""
    above = float(rays.start[2])
    a, b, c = rays.quadratic(-0.25, -0.25)
    b, c = b + 0.25 * rays.rise, c + 0.5 * above
    root = np.sqrt(b * b - a * c)
    nearest = np.full(a.shape, np.inf)
    for distance in ((-b - root) / a, (-b + root) / a):
        is_seen = (np.abs(above + distance * rays.rise) <= 1.0) & (distance > 0) & (distance < nearest)
        nearest[is_seen] = distance[is_seen]  # False for NaN, which is no intersection
    return nearest


def _convex(rays: _Rays, planes: Floats) -> Floats:
    """Distance to the polytope {p: n . p <= d for each row (n, d)} (slab method).

    A plane that the camera is beyond can only be entered, and a ray that does not enter it misses; from within the
    others, a ray can only leave.
    """
    enter: Floats = np.zeros((1, 1))
    leave: Floats = np.full((1, 1), np.inf)
    normals, levels = planes[:, :3], planes[:, 3]
    for slopes, distance in zip(rays.slopes(normals), (levels - normals @ rays.start).tolist(), strict=True):
        speed = rays.along(slopes)
        if distance < 0:
            enter = np.maximum(enter, np.where(speed < 0, distance / speed, np.inf))
        else:
            leave = np.minimum(leave, np.where(speed > 0, distance / speed, np.inf))
    enter, leave = np.broadcast_arrays(enter, leave)
    return np.where((enter <= leave) & (enter > 0) & (enter < np.inf), enter, np.inf)
