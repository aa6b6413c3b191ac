"""A scene as the arrays that `kernel.py` takes."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from trex.blender_assets.stage_facts import (
    GROUND_LOCATION,
    GROUND_TURN,
    LAMPS,
    SUN_ANGLE,
    SUN_ENERGY,
    SUN_ROTATION,
    wall_curve,
)
from trex.render.analytic.kernel import (
    CUBE,
    CYLINDER,
    HULL,
    REACH,
    SPHERE,
    Bits,
    Floats,
    Ids,
    Vec,
    bit,
    cast_bodies,
)
from trex.scenes.camera import axes, focal_px, project
from trex.scenes.properties import RADIUS, RGB
from trex.scenes.scene import Scene, SceneObject, Vec3
from trex.scenes.visibility import picture_window
from trex.scenes.vocabulary import ShapeCard, Vocabulary

KINDS = {"sphere": SPHERE, "cylinder": CYLINDER, "cube": CUBE}
CONE_SIDES = 24
PROFILE_ROWS, SLOPES = 400, 4096  # of the ground's profile, and of the table of a ray's slopes
PENUMBRA = 0.2  # Blender units around a body in which a light's shadow may be half
SQUARE = np.array([(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
ROUND_REACH = {SPHERE: 1.0, CYLINDER: math.sqrt(2.0), CUBE: math.sqrt(3.0), HULL: math.sqrt(3.0)}


class Stage(NamedTuple):
    """What `kernel.shade` takes first: its docstring says what the arrays are."""

    bodies: Floats
    planes: Floats
    lights: Floats
    wall: Floats
    eye: Vec
    basis: Floats
    across: Floats  # (w,): a column's place on the picture plane
    up: Floats  # (h,)
    depth: Floats
    ids: Ids
    bits: Bits


def stage_of(scene: Scene, vocabulary: Vocabulary, width: int, height: int) -> Stage:
    """The scene's arrays, with the nearest body of each pixel."""
    camera = scene.nuisances.camera
    position, basis = axes(camera)
    x, y, z = position.tolist()
    across, up = _picture_plane(width, height)
    bodies, planes = _bodies(scene, vocabulary)
    lights = _lights(scene)
    windows = [_window(item, vocabulary.card(item.shape), camera, width, height) for item in scene.objects]
    depth = np.full((height, width), np.inf)
    ids = np.zeros((height, width), dtype=np.uint8)
    cast_bodies(
        bodies, planes, np.array(windows, np.int64).reshape(-1, 4), (x, y, z), basis, across, up, depth, ids
    )
    bits = _bits(bodies, lights, camera, width, height)
    return Stage(bodies, planes, lights, _wall(x, y, z), (x, y, z), basis, across, up, depth, ids, bits)


@cache
def _picture_plane(width: int, height: int) -> tuple[Floats, Floats]:
    focal = focal_px(width)
    across, down = np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64)
    return (across + 0.5 - width / 2) / focal, (height / 2 - down - 0.5) / focal


def _bodies(scene: Scene, vocabulary: Vocabulary) -> tuple[Floats, Floats]:
    rows: list[tuple[float, ...]] = []
    planes: list[tuple[float, ...]] = []
    for item in scene.objects:
        card = vocabulary.card(item.shape)
        kind, first, radius = KINDS.get(card.outline, HULL), len(planes), RADIUS[item.size]
        if kind == HULL:
            planes += _cone() if card.outline == "cone" else [tuple(face) for face in card.hull]
        color = [value / 255.0 for value in RGB[item.color]]  # used as linear light, as published
        reach = radius * ROUND_REACH[kind]
        rows.append(
            (kind, item.x, item.y, radius, math.cos(item.rotation), math.sin(item.rotation), *color,
             item.material == "metal", first, len(planes), (1.01 * reach) ** 2, (reach + PENUMBRA) ** 2)
        )  # fmt: skip
    return np.array(rows, np.float64).reshape(-1, 14), np.array(planes, np.float64).reshape(-1, 4)


@cache
def _cone() -> list[tuple[float, ...]]:
    """A cone with its apex at z = 1 as a pyramid of many sides."""
    slope = 1.0 / math.sqrt(1.25)
    angles = [math.tau * k / CONE_SIDES for k in range(CONE_SIDES)]
    sides = [(math.cos(a) * slope, math.sin(a) * slope, 0.5 * slope, 0.5 * slope) for a in angles]
    return [*sides, (0.0, 0.0, -1.0, 1.0)]


def _lights(scene: Scene) -> Floats:
    rows = []
    for lamp in LAMPS:
        place = np.array(lamp.location) + getattr(scene.nuisances, lamp.name.lower())
        axis = -place / max(float(np.linalg.norm(place)), 1e-9)  # a foreign scene's may be at the origin
        rows.append([*place, 1.0, lamp.energy / math.pi, lamp.size, *lamp.color, *axis])
    rows.append([*_sun(), 0.0, SUN_ENERGY, 2.0 * math.tan(SUN_ANGLE / 2.0), *[1.0] * 3, *[0.0] * 3])
    return np.array(rows)


@cache
def _sun() -> tuple[float, float, float]:
    """The unit direction to the sun: its -z axis points away from it (Euler angles in the order x, y, z)."""
    a, b, c = SUN_ROTATION
    x, y, z = math.cos(a) * math.sin(b), -math.sin(a), math.cos(a) * math.cos(b)
    return math.cos(c) * x - math.sin(c) * y, math.sin(c) * x + math.cos(c) * y, z


def _wall(x: float, y: float, z: float) -> Floats:
    """The table of `kernel.on_ground`: for each slope of a ray from the camera, where it meets the ground."""
    ax, ay = math.cos(GROUND_TURN), math.sin(GROUND_TURN)
    eye = (x - GROUND_LOCATION[0]) * ax + (y - GROUND_LOCATION[1]) * ay
    places, heights, slopes = _profile()
    ahead = (
        places > eye + 0.3 if -(x * ax + y * ay) > 0 else places < eye - 0.3
    )  # the camera faces the origin
    rays = (heights[ahead] - z) / (places[ahead] - eye)
    order = np.argsort(rays)
    table = np.zeros((4, SLOPES))
    table[0, :3] = ax, ay, eye
    table[1] = np.linspace(rays[order[0]], rays[order[-1]], SLOPES)
    table[2] = np.interp(table[1], rays[order], places[ahead][order])
    table[3] = np.interp(table[1], rays[order], slopes[ahead][order])
    return table


@cache
def _profile() -> tuple[Floats, Floats, Floats]:
    """The ground's profile along its own axis: places, heights and slopes."""
    curve = wall_curve(PROFILE_ROWS)
    return curve[:, 0], curve[:, 1], np.gradient(curve[:, 1], curve[:, 0])


def _window(
    item: SceneObject, card: ShapeCard, camera: Vec3, width: int, height: int
) -> tuple[int, int, int, int]:
    return picture_window(item, card, camera, width, height) or (0, 0, 0, 0)


def _bits(bodies: Floats, lights: Floats, camera: Vec3, width: int, height: int) -> Bits:
    """(h, w): for each pixel of floor the bodies that may hide a light, and those near (`kernel.bit`).

    A box around the image of all points of the floor that this concerns, so rather too many than too few.
    """
    bits = np.zeros((height, width), np.uint64)
    if not len(bodies):
        return bits
    place, radius = bodies[:, None, None, 1:3], bodies[:, None, None, 3:4]
    base = place + (radius * math.sqrt(2.0) + PENUMBRA) * SQUARE  # (n, 1, 4, 2)
    lamp, is_lamp = lights[:, None, :2], lights[:, None, 3:4] > 0.0
    above = np.where(is_lamp, lights[:, None, 2:3] - 2.0 * radius, lights[:, None, 2:3])
    shadow = base + np.where(is_lamp, base - lamp, -lamp) * (2.0 * radius / above)  # of the body's upper face
    reach = place + REACH * radius * SQUARE
    corners = np.concatenate(
        [
            np.concatenate([np.broadcast_to(base, shadow.shape), shadow], axis=2),
            np.concatenate([reach, reach], axis=2),
        ],
        axis=1,
    )  # (n, lights + 1, 8, 2)
    points = np.concatenate([corners, np.zeros((*corners.shape[:3], 1))], axis=3).reshape(-1, 3)
    across, down, depth = (each.reshape(corners.shape[:3]) for each in project(points, camera, width, height))
    is_ahead = depth.min(axis=2) > 0.1  # else it reaches behind the camera
    left, right = (
        np.where(is_ahead, edge, end) for edge, end in ((across.min(2), 0), (across.max(2) + 2, width))
    )
    top, bottom = (
        np.where(is_ahead, edge, end) for edge, end in ((down.min(2), 0), (down.max(2) + 2, height))
    )
    boxes = np.stack(
        [
            np.clip(top, 0, height),
            np.clip(bottom, 0, height),
            np.clip(left, 0, width),
            np.clip(right, 0, width),
        ]
    )
    for k, light in np.ndindex(corners.shape[:2]):
        i, j, m, n = boxes[:, k, light].astype(int).tolist()
        bits[i:j, m:n] |= np.uint64(1 << bit(k, light))
    return bits
