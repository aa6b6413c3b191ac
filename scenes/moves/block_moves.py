"""Proposals of a chain's next scene, with their densities.

Moves of different kinds change different fields, so all densities refer to one measure: Lebesgue measure on the
continuous fields that changed, counting measure on everything else. It is the same from either end of a move, so it
cancels in the Metropolis-Hastings ratio, and a mixture's density is the plain weighted sum (Tierney 1998). A move
that almost surely changes a continuous field has density 0 (log -inf) if that field stayed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

import numpy as np

from trex.scenes.moves.random_walk import log_moved, moved
from trex.scenes.prior import (
    LOG_NOISE,
    LOG_NUISANCES_DENSITY,
    ScenePrior,
    draw_noise,
    draw_nuisances,
    draw_object,
    log_object_density,
)
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject, with_attribute
from trex.scenes.vocabulary import Vocabulary


class SceneMove(Protocol):
    """The protocol of all proposals in this file."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """One proposal; it may be an invalid scene, which the prior then rejects."""

    def log_q(self, to: Scene, given: Scene) -> float:
        """Natural log of the density of `propose`."""


def _changed(to: Scene, given: Scene) -> list[int] | None:
    """The indices of the objects that differ; None if the number of objects, the nuisances or the noise differ."""
    if len(to.objects) != len(given.objects) or (to.nuisances, to.noise) != (given.nuisances, given.noise):
        return None
    return [i for i, (a, b) in enumerate(zip(to.objects, given.objects, strict=True)) if a != b]


def _with(z: Scene, index: int, item: SceneObject) -> Scene:
    return replace(z, objects=(*z.objects[:index], item, *z.objects[index + 1 :]))


@dataclass(frozen=True)
class JitterObject:
    """Moves and turns one random object by Gaussian steps."""

    sigma_xy: float = 0.3
    sigma_rotation: float = 0.5

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """One object moved."""
        index = int(rng.integers(len(z.objects)))
        return _with(z, index, moved(rng, z.objects[index], self.sigma_xy, self.sigma_rotation))

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log density of the step."""
        changed = _changed(to, given)
        if changed is None or len(changed) != 1:
            return -math.inf
        new, old = to.objects[changed[0]], given.objects[changed[0]]
        if new.category != old.category:
            return -math.inf
        return log_moved(new, old, self.sigma_xy, self.sigma_rotation) - math.log(len(given.objects))


@dataclass(frozen=True)
class RedrawCategory:
    """Sets one attribute of one object to another value, all equally likely."""

    vocabulary: Vocabulary

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """One attribute changed; the scene itself if no attribute has two values."""
        attributes = self._attributes()
        if not attributes:
            return z
        index = int(rng.integers(len(z.objects)))
        attribute = attributes[int(rng.integers(len(attributes)))]
        old = getattr(z.objects[index], attribute)
        others = [value for value in self.vocabulary.available(attribute) if value != old]
        new = others[int(rng.integers(len(others)))]
        return _with(z, index, with_attribute(z.objects[index], attribute, new))

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log probability of the step."""
        attributes, changed = self._attributes(), _changed(to, given)
        if not attributes and changed == []:
            return 0.0
        if changed is None or len(changed) != 1:
            return -math.inf
        new, old = to.objects[changed[0]], given.objects[changed[0]]
        different = [a for a in ATTRIBUTES if getattr(new, a) != getattr(old, a)]
        same_place = (new.x, new.y, new.rotation) == (old.x, old.y, old.rotation)
        if not same_place or len(different) != 1 or different[0] not in attributes:
            return -math.inf
        values = self.vocabulary.available(different[0])
        if getattr(new, different[0]) not in values:
            return -math.inf
        others = len(values) - (getattr(old, different[0]) in values)
        return -math.log(len(given.objects) * len(attributes) * others)

    def _attributes(self) -> tuple[str, ...]:
        return tuple(a for a in ATTRIBUTES if len(self.vocabulary.available(a)) > 1)


@dataclass(frozen=True)
class SwapObjects:
    """Exchanges the positions and rotations of two objects of different category."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """Two objects swapped; the scene itself if all are of one category."""
        pairs = _unlike_pairs(z)
        return _swapped(z, *pairs[int(rng.integers(len(pairs)))]) if pairs else z

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log probability of the step."""
        pairs = _unlike_pairs(given)
        if not pairs:
            return 0.0 if to == given else -math.inf
        changed = _changed(to, given)
        if changed is None or len(changed) != 2:
            return -math.inf
        i, j = changed
        return -math.log(len(pairs)) if (i, j) in pairs and _swapped(given, i, j) == to else -math.inf


def _unlike_pairs(z: Scene) -> list[tuple[int, int]]:
    return [(i, j) for i, j in combinations(range(len(z.objects)), 2)
            if z.objects[i].category != z.objects[j].category]  # fmt: skip


def _swapped(z: Scene, i: int, j: int) -> Scene:
    a, b = z.objects[i], z.objects[j]
    with_i = _with(z, i, replace(a, x=b.x, y=b.y, rotation=b.rotation))
    return _with(with_i, j, replace(b, x=a.x, y=a.y, rotation=a.rotation))


@dataclass(frozen=True)
class RedrawObjects:
    """Redraws one to three objects, each from the prior of a single object."""

    vocabulary: Vocabulary
    counts: tuple[int, ...] = (1, 2, 3)

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """The scene with some objects redrawn."""
        counts = self._counts(len(z.objects))
        chosen = rng.choice(len(z.objects), size=counts[int(rng.integers(len(counts)))], replace=False)
        for index in sorted(int(i) for i in chosen):
            z = _with(z, index, draw_object(rng, self.vocabulary))
        return z

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log density of the step."""
        changed, n = _changed(to, given), len(given.objects)
        if changed is None or len(changed) not in self._counts(n):
            return -math.inf
        pairs = [(to.objects[i], given.objects[i]) for i in changed]
        if any(a.x == b.x or a.y == b.y or a.rotation == b.rotation for a, b in pairs):
            return -math.inf
        if not all(self.vocabulary.allows(a) for a, _ in pairs):
            return -math.inf
        ways = math.comb(n, len(changed)) * len(self._counts(n))
        return len(changed) * log_object_density(self.vocabulary) - math.log(ways)

    def _counts(self, n: int) -> tuple[int, ...]:
        return tuple(k for k in self.counts if k <= n)


@dataclass(frozen=True)
class RedrawNuisances:
    """Redraws all nuisances from their prior; objects and noise stay."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """New nuisances."""
        return replace(z, nuisances=draw_nuisances(rng))

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log density of the step."""
        if (to.objects, to.noise) != (given.objects, given.noise):
            return -math.inf
        pairs = zip(to.nuisances.coordinates, given.nuisances.coordinates, strict=True)
        return LOG_NUISANCES_DENSITY if all(new != old for new, old in pairs) else -math.inf


@dataclass(frozen=True)
class RedrawNoise:
    """Redraws the noise seed from its prior; everything else stays."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """A new noise seed."""
        return replace(z, noise=draw_noise(rng))

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log probability of the step."""
        same = (to.objects, to.nuisances) == (given.objects, given.nuisances)
        return LOG_NOISE if same else -math.inf


@dataclass(frozen=True)
class FreshScene:
    """Draws a new scene from the prior; the only move that changes the number of objects."""

    prior: ScenePrior

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """A draw from the prior."""
        return self.prior.sample(rng)

    def log_q(self, to: Scene, given: Scene) -> float:
        """The prior's log density (up to the same constant), so that prior and proposal cancel."""
        alike = len(to.objects) == len(given.objects) and (
            to.nuisances == given.nuisances
            or any((a.x, a.y) == (b.x, b.y) for a, b in zip(to.objects, given.objects, strict=True))
        )
        return -math.inf if alike else self.prior.log_density(to)


@dataclass(frozen=True)
class Mixture:
    """Applies one of several moves, chosen with these probabilities."""

    moves: tuple[SceneMove, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if (
            len(self.moves) != len(self.weights)
            or min(self.weights) <= 0
            or abs(sum(self.weights) - 1) > 1e-9
        ):
            raise ValueError(
                f"{len(self.moves)} moves need the same number of positive weights that sum to 1, not {self.weights}"
            )

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        """One of the moves."""
        return self.moves[int(rng.choice(len(self.moves), p=self.weights))].propose(rng, z)

    def log_q(self, to: Scene, given: Scene) -> float:
        """Log of the weighted sum of the moves' densities."""
        return _log_sum(
            [math.log(w) + m.log_q(to, given) for m, w in zip(self.moves, self.weights, strict=True)]
        )


def _log_sum(terms: Sequence[float]) -> float:
    top = max(terms)
    return top if top == -math.inf else top + math.log(sum(math.exp(t - top) for t in terms))


def block_moves(prior: ScenePrior) -> Mixture:
    """The block kernel: changes some objects at a time, and occasionally nuisances, noise or the whole scene.

    Of the weights tried, these reached a rare level set of the fake world most often (benchmarks/kernels/KERNELS.md,
    before the noise had a move, which took its .05 from the redraws): nearly half of the moves redraw one to three
    objects.
    """
    moves: tuple[SceneMove, ...] = (
        JitterObject(),
        RedrawCategory(prior.vocabulary),
        SwapObjects(),
        RedrawObjects(prior.vocabulary),
        RedrawNuisances(),
        RedrawNoise(),
        FreshScene(prior),
    )
    return Mixture(moves, (0.1, 0.2, 0.05, 0.45, 0.05, 0.05, 0.1))
