"""Small changes of a scene: what is still nearly the same scene, for repairs. No step of a chain, so no density."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trex.scenes.moves.block_moves import RedrawCategory
from trex.scenes.moves.random_walk import wrap
from trex.scenes.prior import draw_noise
from trex.scenes.scene import TAU, Scene, SceneObject
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary

TURN = 2.0  # radians of rotation for each Blender unit of a step
RECOLORED = 0.5  # chance that one attribute of one object changes
MAX_TRIES = 200


@dataclass(frozen=True)
class SmallChange:
    """Gaussian steps of every object and of all nuisances, and in half of the draws another value of one attribute.

    `sigma` is the standard deviation of each coordinate in Blender units, the ground reaching from -3 to 3; rotations
    have TURN times as many radians. The noise seed is drawn anew.
    """

    vocabulary: Vocabulary
    sigma: float

    def draw(self, rng: np.random.Generator, scene: Scene) -> tuple[Scene | None, int]:
        """A valid scene whose objects keep their order, and how many invalid ones came before it.

        None if MAX_TRIES draws were invalid.
        """
        for tries in range(MAX_TRIES):
            changed = self._once(rng, scene)
            if is_valid(changed, self.vocabulary):
                return changed, tries
        return None, MAX_TRIES

    def _once(self, rng: np.random.Generator, scene: Scene) -> Scene:
        objects = tuple(self._moved(rng, item) for item in scene.objects)
        nuisances = scene.nuisances.mapped(lambda value, _: value + float(rng.normal(0.0, self.sigma)))
        changed = replace(scene, objects=objects, nuisances=nuisances, noise=draw_noise(rng))
        if rng.random() < RECOLORED:
            changed = RedrawCategory(self.vocabulary).propose(rng, changed)
        return changed

    def _moved(self, rng: np.random.Generator, item: SceneObject) -> SceneObject:
        """The object after a step; one that leaves the ground makes the scene invalid and does not wrap."""
        dx, dy, turn = rng.normal(0.0, (self.sigma, self.sigma, TURN * self.sigma))
        rotation = wrap(item.rotation + float(turn), 0.0, TAU)
        return replace(item, x=item.x + float(dx), y=item.y + float(dy), rotation=rotation)
