"""The paper's proposal, which changes everything in the scene at once, and Gaussian steps that wrap around."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trex.scenes.prior import LOG_NOISE, draw_noise
from trex.scenes.scene import ATTRIBUTES, NUISANCES, TAU, Nuisances, Scene, SceneObject, with_attribute
from trex.scenes.validity import HALF_WIDTH
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
            z.nuisances.mapped(partial(self._walked, rng)),
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

    def _walked(self, rng: np.random.Generator, value: float, reach: float) -> float:
        step = float(rng.normal(0.0, 2 * reach * self.sigma_nuisance))
        return wrap(value + step, -reach, 2 * reach)

    def _log_nuisances(self, to: Nuisances, given: Nuisances) -> float:
        total = 0.0
        for part in NUISANCES:
            for new, old in zip(getattr(to, part.name), getattr(given, part.name), strict=True):
                period = 2 * part.reach
                step = log_wrapped_normal(new - old, period * self.sigma_nuisance, period)
                total += step if new != old else -math.inf
        return total


WRAPS = 3  # images of a wrapped normal on each side; enough for sigma <= period / 2


def wrap(value: float, low: float, period: float) -> float:
    """The value moved by whole periods into [low, low + period)."""
    wrapped = low + (value - low) % period
    return wrapped if wrapped < low + period else low  # rounding can reach the upper end


def log_wrapped_normal(delta: float, sigma: float, period: float) -> float:
    """Log density of a step `delta` on a circle of this period, sigma <= period / 2."""
    steps = [(delta + k * period) / sigma for k in range(-WRAPS, WRAPS + 1)]
    top = max(-0.5 * step * step for step in steps)
    total = sum(math.exp(-0.5 * step * step - top) for step in steps)
    return top + math.log(total) - math.log(sigma * math.sqrt(TAU))


def moved(rng: np.random.Generator, item: SceneObject, sigma_xy: float, sigma_rotation: float) -> SceneObject:
    """The object after a step of these widths (Blender units, radians), wrapped at the ground's edges."""
    dx, dy, turn = rng.normal(0.0, (sigma_xy, sigma_xy, sigma_rotation))
    x, y = (wrap(v, -HALF_WIDTH, 2 * HALF_WIDTH) for v in (item.x + float(dx), item.y + float(dy)))
    return replace(item, x=x, y=y, rotation=wrap(item.rotation + float(turn), 0.0, TAU))


def log_moved(to: SceneObject, given: SceneObject, sigma_xy: float, sigma_rotation: float) -> float:
    """Log density of `moved`; -inf if a coordinate stayed."""
    if to.x == given.x or to.y == given.y or to.rotation == given.rotation:
        return -math.inf
    return (
        log_wrapped_normal(to.x - given.x, sigma_xy, 2 * HALF_WIDTH)
        + log_wrapped_normal(to.y - given.y, sigma_xy, 2 * HALF_WIDTH)
        + log_wrapped_normal(to.rotation - given.rotation, sigma_rotation, TAU)
    )
