"""Which object is seen at each pixel, by casting rays at ideal shapes: no renderer needed.

Edges are not rounded here and a mesh counts as its convex hull. This map defines which scenes are valid; the
renderer's own object-index pass is kept with each picture, and disagreements are counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scenes.camera import HEIGHT_PX, WIDTH_PX, Floats, project, rays
from scenes.scene import Scene, SceneObject
from scenes.vocabulary import RADIUS, ShapeCard, Vocabulary

CUBE_PLANES = np.array(
    [(1, 0, 0, 1), (-1, 0, 0, 1), (0, 1, 0, 1), (0, -1, 0, 1), (0, 0, 1, 1), (0, 0, -1, 1)], dtype=np.float64
)


def id_map(
    scene: Scene, vocabulary: Vocabulary, width: int = WIDTH_PX, height: int = HEIGHT_PX
) -> NDArray[np.uint8]:
    """(height, width): 0 where the background is seen, i + 1 where object i is."""
    ids = np.zeros((height, width), dtype=np.uint8)
    nearest = np.full((height, width), np.inf)
    for index, item in enumerate(scene.objects):
        window = _window(item, scene, width, height)
        if window is None:
            continue
        top, bottom, left, right = window
        origin, directions = rays(
            np.arange(left, right), np.arange(top, bottom), scene.nuisances.camera, width, height
        )
        distance = _hit(item, vocabulary.card(item.shape), origin, directions)
        closer = distance < nearest[top:bottom, left:right]
        nearest[top:bottom, left:right][closer] = distance[closer]
        ids[top:bottom, left:right][closer] = index + 1
    return ids


def visible_pixels(scene: Scene, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """(n,) pixels at which each object is seen, at 480 x 320."""
    counts = np.bincount(id_map(scene, vocabulary).ravel(), minlength=len(scene.objects) + 1)
    return counts[1:].astype(np.int64)


def _window(item: SceneObject, scene: Scene, width: int, height: int) -> tuple[int, int, int, int] | None:
    """Rows and columns (top, bottom, left, right; ends excluded) that hold the object's picture."""
    radius = RADIUS[item.size]
    reach = radius * np.sqrt(2.0)
    corners = np.array(
        [(sx * reach, sy * reach, z) for sx in (-1, 1) for sy in (-1, 1) for z in (0.0, 2 * radius)]
    )
    px, py, _ = project(corners + (item.x, item.y, 0.0), scene.nuisances.camera, width, height)
    left, right = max(0, int(np.floor(px.min()))), min(width, int(np.ceil(px.max())) + 1)
    top, bottom = max(0, int(np.floor(py.min()))), min(height, int(np.ceil(py.max())) + 1)
    return (top, bottom, left, right) if top < bottom and left < right else None


def _hit(item: SceneObject, card: ShapeCard, origin: Floats, directions: Floats) -> Floats:
    """Distance (H, W) along each ray to the object, inf where it is missed; in the object's own units."""
    radius = RADIUS[item.size]
    cos, sin = np.cos(item.rotation), np.sin(item.rotation)
    turn = np.array([(cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)])  # rows of local -> world
    start = (origin - (item.x, item.y, radius)) @ turn / radius  # (3,)
    heading = directions @ turn / radius  # (H, W, 3)
    if card.outline == "sphere":
        return _quadric(start, heading, np.array([1.0, 1.0, 1.0]), 1.0, 0.0)
    if card.outline == "cylinder":
        return _capped(start, heading, np.array([1.0, 1.0, 0.0]), 1.0, 0.0)
    if card.outline == "cone":  # x^2 + y^2 = ((1 - z) / 2)^2 between the base at -1 and the apex at 1
        return _capped(start, heading, np.array([1.0, 1.0, -0.25]), 0.25, -0.5)
    planes = CUBE_PLANES if card.outline == "cube" else np.asarray(card.hull)
    return _convex(start, heading, planes)


def _interval(
    start: Floats, heading: Floats, weights: Floats, level: float, slope: float
) -> tuple[Floats, Floats]:
    """Where sum(weights p^2) <= level + slope z holds along each ray: entry and exit (a convex body is assumed)."""
    a = (heading * heading) @ weights
    b = heading @ (weights * start) - 0.5 * slope * heading[..., 2]
    c = float((start * start) @ weights) - level - slope * float(start[2])
    root = b * b - a * c
    with np.errstate(invalid="ignore", divide="ignore"):
        half = np.sqrt(root)
        first, second = (-b - half) / a, (-b + half) / a
    miss = ~(root > 0)
    return np.where(miss, np.inf, np.minimum(first, second)), np.where(
        miss, -np.inf, np.maximum(first, second)
    )


def _quadric(start: Floats, heading: Floats, weights: Floats, level: float, slope: float) -> Floats:
    enter, leave = _interval(start, heading, weights, level, slope)
    return np.where((enter <= leave) & (enter > 0), enter, np.inf)


def _capped(start: Floats, heading: Floats, weights: Floats, level: float, slope: float) -> Floats:
    """A quadric between z = -1 and z = 1, in front of a camera that is above it and outside.

    A cone opens both ways; with the camera outside, each candidate point is tested on its own: the side within the
    height, and the two caps within the radius.
    """
    candidates = list(_interval(start, heading, weights, level, slope))
    with np.errstate(divide="ignore", invalid="ignore"):
        caps = [(z - start[2]) / heading[..., 2] for z in (-1.0, 1.0)]
    nearest = np.full(heading.shape[:2], np.inf)
    for index, distance in enumerate(candidates + caps):
        with np.errstate(invalid="ignore", over="ignore"):
            point = start + distance[..., None] * heading
            inside = (
                np.abs(point[..., 2]) <= 1.0
                if index < 2
                else (point * point) @ weights <= level + slope * point[..., 2]
            )
        ok = np.isfinite(distance) & (distance > 0) & inside & (distance < nearest)
        nearest[ok] = distance[ok]
    return nearest


def _convex(start: Floats, heading: Floats, planes: Floats) -> Floats:
    """Distance to the polytope {p: n . p <= d for each row (n, d)} (slab method)."""
    enter = np.full(heading.shape[:2], -np.inf)
    leave = np.full(heading.shape[:2], np.inf)
    for *normal, level in planes:
        speed = heading @ np.asarray(normal)
        room = level - float(np.dot(normal, start))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = room / speed
        enter = np.where(speed < 0, np.maximum(enter, at), enter)
        leave = np.where(speed > 0, np.minimum(leave, at), leave)
        leave = np.where((speed == 0) & (room < 0), -np.inf, leave)
    return np.where((enter <= leave) & (enter > 0), enter, np.inf)
