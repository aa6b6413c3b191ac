"""CLEVR's relations left, right, front and behind."""

from __future__ import annotations

from collections.abc import Iterable

from trex.scenes.scene import Scene, Vec3
from trex.scenes.validity import BEHIND, RIGHT

_RIGHT: Vec3 = (*RIGHT, 0.0)
_BEHIND: Vec3 = (*BEHIND, 0.0)


def _opposite(direction: Vec3) -> Vec3:
    x, y, z = direction
    return (-x, -y, -z)


DIRECTIONS: dict[str, Vec3] = {
    "left": _opposite(_RIGHT),
    "right": _RIGHT,
    "front": _opposite(_BEHIND),
    "behind": _BEHIND,
}
RELATIONS = tuple(DIRECTIONS)
# j is r of i if (c_j - c_i) . direction_r > MARGIN, Blender units (clevr-dataset-gen, render_images.py).
MARGIN = 0.2


def related(scene: Scene) -> dict[str, list[list[int]]]:
    """CLEVR's `relationships`: related(scene)["left"][i] lists, ascending, the objects left of object i."""
    places = tuple((item.x, item.y) for item in scene.objects)
    return {name: [_beyond(places, at, name) for at in places] for name in RELATIONS}


def _beyond(places: Iterable[tuple[float, float]], origin: tuple[float, float], name: str) -> list[int]:
    dx, dy, _ = DIRECTIONS[name]
    x0, y0 = origin
    return [j for j, (x, y) in enumerate(places) if (x - x0) * dx + (y - y0) * dy > MARGIN]
