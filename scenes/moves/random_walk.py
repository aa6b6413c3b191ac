"""The paper's proposal, which changes everything in the scene at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trex.scenes.moves.wrapped_normal import log_moved, log_wrapped_normal, moved, wrap
from trex.scenes.prior import LOG_NOISE, draw_noise
from trex.scenes.scene import ATTRIBUTES, TAU, Nuisances, Scene, SceneObject, Vec3, with_attribute
from trex.scenes.validity import REACH
from trex.scenes.vocabulary import Vocabulary


@dataclass(frozen=True)
class RandomWalk:
    """The paper's proposal: every object moves, turns and may change its attributes, all at once.

    Steps are those of the published code (0.05 of the range in x and y, 0.05 turns, each attribute redrawn with
    probability 0.2); rotation is in radians and wraps at 2 pi. The nuisances walk along by 0.05 of their ranges; the
    noise seed is redrawn, since neighbouring seeds have nothing in common.
    """

    vocabulary: Vocabulary
    sigma_xy: float = 0.3  # Blender units
    sigma_rotation: float = 0.05 * TAU  # radians
    resample: float = 0.2
    sigma_nuisance: float = 0.05  # of the range

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """All objects and nuisances perturbed."""
        return Scene(
            tuple(self._propose_object(rng, o) for o in z.objects),
            self._propose_nuisances(rng, z.nuisances),
            draw_noise(rng),
        )

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log density of the step."""
        if len(to.objects) != len(given.objects):
            return -math.inf
        objects = sum(self._log_object(a, b) for a, b in zip(to.objects, given.objects, strict=True))
        return objects + self._log_nuisances(to.nuisances, given.nuisances) + LOG_NOISE

    def _propose_object(self, rng: np.random.Generator, item: SceneObject) -> SceneObject:
        walked = moved(rng, item, self.sigma_xy, self.sigma_rotation)
        for attribute in ATTRIBUTES:
            values = self.vocabulary.available(attribute)
            if rng.random() < self.resample:
                walked = with_attribute(walked, attribute, values[int(rng.integers(len(values)))])
        return walked

    def _log_object(self, to: SceneObject, given: SceneObject) -> float:
        total = log_moved(to, given, self.sigma_xy, self.sigma_rotation)
        for attribute in ATTRIBUTES:
            values = self.vocabulary.available(attribute)
            new, old = getattr(to, attribute), getattr(given, attribute)
            chance = (self.resample / len(values) if new in values else 0.0) + (1 - self.resample) * (
                new == old
            )
            total += math.log(chance) if chance > 0 else -math.inf
        return total

    def _propose_nuisances(self, rng: np.random.Generator, old: Nuisances) -> Nuisances:
        def walk(name: str) -> Vec3:
            reach, offset = REACH[name], getattr(old, name)
            steps = rng.normal(0.0, 2 * reach * self.sigma_nuisance, size=3)
            x, y, z = (wrap(v + float(s), -reach, 2 * reach) for v, s in zip(offset, steps, strict=True))
            return (x, y, z)

        return Nuisances(**{name: walk(name) for name in REACH})

    def _log_nuisances(self, to: Nuisances, given: Nuisances) -> float:
        total = 0.0
        for name, reach in REACH.items():
            for new, old in zip(getattr(to, name), getattr(given, name), strict=True):
                step = log_wrapped_normal(new - old, 2 * reach * self.sigma_nuisance, 2 * reach)
                total += step if new != old else -math.inf
        return total
