"""Which object is visible at each pixel, by casting rays at ideal shapes: needs no renderer.

Edges are not rounded here and a mesh counts as its convex hull. This map defines which scenes are valid; the
renderer's own object-index pass is stored with each picture, and disagreements are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trex.scenes.camera import HEIGHT_PX, WIDTH_PX, Floats, axes, project, rays
from trex.scenes.properties import RADIUS
from trex.scenes.scene import Scene, SceneObject, Vec3
from trex.scenes.vocabulary import ShapeCard, Vocabulary

ROUND = ("sphere", "cylinder", "cone")  # outlines that reach no further than 1 in any direction on the ground
Layer = tuple[
    slice, slice, Floats
]  # rows and columns of the picture, and the distance (h, w) to an object there
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
    for item in scene.objects:
        card = vocabulary.card(item.shape)
        window = picture_window(item, card, scene.nuisances.camera, width, height)
        top, bottom, left, right = window or (0, 0, 0, 0)
        directions = rays(np.arange(left, right), np.arange(top, bottom), basis, width, height)
        yield slice(top, bottom), slice(left, right), _hit(item, card, position, directions)


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
    corners = np.array(
        [(sx * reach, sy * reach, z) for sx in (-1, 1) for sy in (-1, 1) for z in (0.0, 2 * radius)]
    )
    px, py, _ = project(corners + (item.x, item.y, 0.0), camera, width, height)
    left, right = max(0, math.floor(px.min())), min(width, math.ceil(px.max()) + 1)
    top, bottom = max(0, math.floor(py.min())), min(height, math.ceil(py.max()) + 1)
    return (top, bottom, left, right) if top < bottom and left < right else None


def _hit(item: SceneObject, card: ShapeCard, origin: Floats, directions: Floats) -> Floats:
    """Distance (H, W) along each ray to the object, inf if the ray misses it; in the object's own units.

    The camera is outside of and above every object, so only its near side and the top can be visible.
    """
    radius = RADIUS[item.size]
    cos, sin = math.cos(item.rotation), math.sin(item.rotation)
    turn = np.array([(cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)])  # columns: the object's axes
    start = (origin - (item.x, item.y, radius)) @ turn / radius  # (3,)
    heading = directions @ (turn / radius)  # (H, W, 3)
    if card.outline == "sphere":
        return _side(start, heading, (1.0, 1.0, 1.0), 1.0, 0.0)
    if card.outline == "cylinder":
        side = _side(start, heading, (1.0, 1.0, 0.0), 1.0, 0.0)
        return np.minimum(side, _top(start, heading))
    if card.outline == "cone":  # x^2 + y^2 = ((1 - z) / 2)^2 between the base at -1 and the apex at 1
        return _side(start, heading, (1.0, 1.0, -0.25), 0.25, -0.5)
    planes = CUBE_PLANES if card.outline == "cube" else np.asarray(card.hull)
    return _convex(start, heading, planes)


def _side(
    start: Floats, heading: Floats, weights: tuple[float, float, float], level: float, slope: float
) -> Floats:
    """Distance to the surface sum(weights p^2) = level + slope z between z = -1 and z = 1."""
    w = np.asarray(weights)
    a = (heading * heading) @ w
    b = heading @ (w * start + (0.0, 0.0, -0.5 * slope))
    c = float((start * start) @ w) - level - slope * float(start[2])
    nearest = np.full(a.shape, np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(b * b - a * c)
        for distance in ((-b - root) / a, (-b + root) / a):
            height = start[2] + distance * heading[..., 2]
            seen = (
                (np.abs(height) <= 1.0) & (distance > 0) & (distance < nearest)
            )  # False for NaN, which is no intersection
            nearest[seen] = distance[seen]
    return nearest


def _top(start: Floats, heading: Floats) -> Floats:
    """Distance to the disk of radius 1 at z = 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = (1.0 - start[2]) / heading[..., 2]
        x, y = (start[axis] + distance * heading[..., axis] for axis in (0, 1))
        return np.where((x * x + y * y <= 1.0) & (distance > 0), distance, np.inf)


def _convex(start: Floats, heading: Floats, planes: Floats) -> Floats:
    """Distance to the polytope {p: n . p <= d for each row (n, d)} (slab method)."""
    enter = np.full(heading.shape[:2], -np.inf)
    leave = np.full(heading.shape[:2], np.inf)
    for *normal, level in planes:
        speed = heading @ np.asarray(normal)
        distance = level - float(np.dot(normal, start))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = distance / speed
        enter = np.where(speed < 0, np.maximum(enter, at), enter)
        leave = np.where(speed > 0, np.minimum(leave, at), leave)
        leave = np.where((speed == 0) & (distance < 0), -np.inf, leave)
    return np.where((enter <= leave) & (enter > 0), enter, np.inf)
