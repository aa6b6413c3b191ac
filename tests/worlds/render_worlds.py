"""Scenes and renderers for the tests of render/."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from trex.render.presets import PRESETS
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene, SceneObject

SEED = 20261121
# One sample at CLEVR's own size: exact masks for a tenth of a second.
MASKS = replace(PRESETS["draft"], name="masks", width=480, height=320, samples=1, denoise=None)


@cache
def prior_scenes(count: int, seed: int = SEED) -> tuple[Scene, ...]:
    rng = np.random.default_rng(seed)
    prior = ScenePrior()
    return tuple(prior.sample(rng) for _ in range(count))


def three_objects() -> Scene:
    """Three objects that do not hide each other."""
    objects = (
        SceneObject("cube", "large", "red", "rubber", 0.0, 0.0, 0.3),
        SceneObject("sphere", "small", "blue", "metal", -2.0, -1.5, 0.0),
        SceneObject("cylinder", "large", "green", "metal", 1.0, 2.4, 1.0),
    )
    return Scene(objects, Nuisances())


def moved(scene: Scene, index: int, dx: float) -> Scene:
    """The scene with one object moved along x."""
    item = scene.objects[index]
    objects = list(scene.objects)
    objects[index] = replace(item, x=item.x + dx)
    return replace(scene, objects=tuple(objects))


def without(scene: Scene, index: int) -> Scene:
    """The scene without one object."""
    return replace(scene, objects=scene.objects[:index] + scene.objects[index + 1 :])


def crowd(count: int) -> Scene:
    """More objects than CLEVR has, on a grid."""
    places = [(-2.5 + 1.2 * (k % 5), -2.5 + 1.2 * (k // 5)) for k in range(count)]
    objects = tuple(SceneObject("sphere", "small", "cyan", "rubber", x, y, 0.0) for x, y in places)
    return Scene(objects, Nuisances())
