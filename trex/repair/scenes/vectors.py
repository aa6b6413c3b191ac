"""An object and its surroundings as a vector, centered on the object, so that similar situations lie close together.

The vector depends on the scene alone and not on what a model sees. Each number is standardized by its mean and standard
deviation among the prior's objects; each one-hot category is divided by the root of its number of values in addition,
so that a category weighs as much as a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.repair.files import Floats
from trex.scenes.graph import Facts, gap
from trex.scenes.properties import RADIUS
from trex.scenes.scene import ATTRIBUTES, SceneObject
from trex.scenes.validity import BEHIND, HALF_WIDTH, RIGHT
from trex.scenes.vocabulary import Vocabulary

LEAST_SHARE = 0.01  # visible shares below count as this
NUMBERS = (
    "right", "behind", "log visible share", "gap", "sine of bearing", "cosine of bearing", "log size ratio",
    "camera x", "camera y", "camera z",
)  # fmt: skip
OF_NEIGHBOR = ("size", "material")
ALONE = 2 * HALF_WIDTH  # the gap where there is no neighbor


def vector(facts: Facts, index: int, vocabulary: Vocabulary) -> Floats:
    """(d,): place along CLEVR's right and behind, log of the visible share; gap to the nearest neighbor, its bearing
    and size ratio; the camera's offset; the categories of both, one-hot. Lengths in Blender units.
    """
    items = facts.scene.objects
    item = items[index]
    others = [other for k, other in enumerate(items) if k != index]
    neighbor = min(others, key=lambda other: gap(item, other), default=None)
    right, behind = _along(item.x, item.y)
    share = math.log(max(LEAST_SHARE, facts.shares[index]))
    numbers = [right, behind, share, *_beside(item, neighbor), *facts.scene.nuisances.camera]
    own = [getattr(item, name) == value for name, value in _own(vocabulary)]
    near = [neighbor is not None and getattr(neighbor, name) == value for name, value in _near(vocabulary)]
    return np.array([*numbers, *own, *near], float)


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and standard deviation (d,) by which vectors are standardized, and their axes (d, k)."""

    mean: Floats
    deviation: Floats
    center: Floats
    axes: Floats

    def codes(self, vectors: Floats) -> Floats:
        """(n, k): vectors (n, d) on the principal axes."""
        standard = (vectors - self.mean) / self.deviation
        found: Floats = (standard - self.center) @ self.axes
        return found


def scale_of(prior: Floats, mistakes: Floats, vocabulary: Vocabulary, dimensions: int) -> Scale:
    """Standardized by the prior's vectors (m, d); at most `dimensions` and n // 2 principal axes of n mistakes."""
    deviation = prior.std(axis=0)
    deviation[deviation == 0] = 1.0
    groups = [name for name, _ in _own(vocabulary)] + [f"near {name}" for name, _ in _near(vocabulary)]
    sizes = [1.0] * len(NUMBERS) + [math.sqrt(groups.count(one)) for one in groups]
    deviation = deviation * np.array(sizes)
    standard = (mistakes - prior.mean(axis=0)) / deviation
    center = standard.mean(axis=0)
    _, spread, axes = np.linalg.svd(standard - center, full_matrices=False)
    used = min(dimensions, len(mistakes) // 2, int((spread > 1e-9 * spread[0]).sum()) if len(spread) else 0)
    signs = np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)
    return Scale(prior.mean(axis=0), deviation, center, (axes * signs[:, None])[:used].T)


def _own(vocabulary: Vocabulary) -> Sequence[tuple[str, str]]:
    return [(name, value) for name in ATTRIBUTES for value in vocabulary.available(name)]


def _near(vocabulary: Vocabulary) -> Sequence[tuple[str, str]]:
    return [(name, value) for name in OF_NEIGHBOR for value in vocabulary.available(name)]


def _along(x: float, y: float) -> tuple[float, float]:
    return x * RIGHT[0] + y * RIGHT[1], x * BEHIND[0] + y * BEHIND[1]


def _beside(item: SceneObject, neighbor: SceneObject | None) -> tuple[float, float, float, float]:
    """Gap to the neighbor, sine and cosine of its bearing (0 is to the right), log of its size over the object's."""
    if neighbor is None:
        return ALONE, 0.0, 0.0, 0.0
    right, behind = _along(neighbor.x - item.x, neighbor.y - item.y)
    distance = math.hypot(right, behind)
    ratio = math.log(RADIUS[neighbor.size] / RADIUS[item.size])
    return gap(item, neighbor), behind / distance, right / distance, ratio
