"""Small changes of a scene: what is still nearly the same scene, for repairs. No step of a chain, so no density."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from trex.scenes.moves.block_moves import RedrawCategory
from trex.scenes.moves.wrapped_normal import moved, wrap
from trex.scenes.prior import draw_noise
from trex.scenes.scene import Nuisances, Scene, Vec3
from trex.scenes.validity import REACH, is_valid
from trex.scenes.vocabulary import Vocabulary

TURN = 2.0  # radians of rotation for each Blender unit of a step
RECOLORED = 0.5  # chance that one attribute of one object changes
MOST_TRIES = 200


@dataclass(frozen=True)
class SmallChange:
    """Gaussian steps of every object, of camera and lights, and in half of the draws another value of one attribute.

    `sigma` is the standard deviation of each coordinate in Blender units, the ground reaching from -3 to 3; rotations
    have TURN times as many radians. The noise seed is drawn anew.
    """

    vocabulary: Vocabulary
    sigma: float

    def draw(self, rng: np.random.Generator, scene: Scene) -> tuple[Scene | None, int]:
        """A valid scene whose objects keep their order, and how many invalid ones came before it.

        None if MOST_TRIES draws were invalid.
        """
        for tries in range(MOST_TRIES):
            changed = self._once(rng, scene)
            if is_valid(changed, self.vocabulary):
                return changed, tries
        return None, MOST_TRIES

    def _once(self, rng: np.random.Generator, scene: Scene) -> Scene:
        objects = tuple(moved(rng, item, self.sigma, TURN * self.sigma) for item in scene.objects)
        shifts = scene.nuisances
        offsets = {
            one.name: self._shifted(rng, one.name, getattr(shifts, one.name)) for one in fields(shifts)
        }
        changed = replace(scene, objects=objects, nuisances=Nuisances(**offsets), noise=draw_noise(rng))
        if rng.random() < RECOLORED:
            changed = RedrawCategory(self.vocabulary).propose(rng, changed)
        return changed

    def _shifted(self, rng: np.random.Generator, name: str, offset: Vec3) -> Vec3:
        """The offset of camera or a light after a step, wrapped at the ends of its range."""
        reach = REACH[name]
        x, y, z = (
            wrap(value + float(step), -reach, 2 * reach)
            for value, step in zip(offset, rng.normal(0.0, self.sigma, 3), strict=True)
        )
        return x, y, z
