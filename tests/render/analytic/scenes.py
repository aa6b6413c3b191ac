"""Scenes and shapes for the tests of the analytic look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trex.inference.types import Floats
from trex.render.analytic.look import AnalyticRenderer
from trex.scenes.camera import project
from trex.scenes.scene import Nuisances, Scene, SceneObject, Vec3
from trex.scenes.vocabulary import CLEVR, CONE, ShapeCard

WIDTH, HEIGHT = 240, 160
# A roof that rises from the bottom's front edge to the top's back edge.
RAMP = (
    (1.0, 0.0, 0.0, 1.0),
    (-1.0, 0.0, 0.0, 1.0),
    (0.0, -1.0, 0.0, 1.0),
    (0.0, 0.0, -1.0, 1.0),
    (0.0, 0.6, 0.8, 0.8),
)
EVERY = CLEVR.introduce(CONE).introduce(ShapeCard("ramp", "ramps", "mesh", "ramp.obj", ("ramp",), RAMP))
EMPTY = Scene((), Nuisances())


def rows_of(shape: str) -> Scene:
    """Five bodies of one shape, of both sizes and turned; the second is partly hidden."""
    places = ((-2.0, -2.0), (-2.0, 1.5), (0.0, 0.0), (2.0, -1.0), (1.5, 2.2))
    objects = [
        SceneObject(shape, ("large", "small")[i % 2], "red", "rubber", x, y, 0.7 * i + 0.2)
        for i, (x, y) in enumerate(places)
    ]
    return Scene(tuple(objects), Nuisances(camera=(0.3, -0.2, 0.4)))


def beside(material: str, color: str) -> Scene:
    """A gray sphere of this material, and a rubber cube of this color beside it."""
    sphere = SceneObject("sphere", "large", "gray", material, 0.0, -0.8, 0.0)
    return Scene((sphere, SceneObject("cube", "large", color, "rubber", 0.3, 0.8, 0.3)), Nuisances())


def lit(scene: Scene, **lamps: Vec3) -> Scene:
    """The scene with its lamps moved."""
    return replace(scene, nuisances=replace(scene.nuisances, **lamps))


def pixels_of(renderer: AnalyticRenderer, *scenes: Scene) -> list[Floats]:
    """The pictures (h, w, 3) as numbers that can be subtracted."""
    return [picture.pixels.astype(np.float64) for picture in renderer.render(scenes)]


def pixel_at(x: float, y: float, z: float = 0.0) -> tuple[int, int]:
    """Row and column that show this point, for the camera of a scene without an offset."""
    across, down, _ = project(np.array([(x, y, z)]), (0.0, 0.0, 0.0), WIDTH, HEIGHT)
    return int(down[0]), int(across[0])
