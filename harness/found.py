"""The scenes that hit the level set, each kept once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from scipy.optimize import linear_sum_assignment

from harness.records import Record
from inference.types import Target
from scenes.scene import Scene, SceneObject

APART = 0.5  # Blender units; a small object is .7 wide
DIFFERENT = 2  # objects that must differ
RULE = (
    f"Two scenes count as distinct where at least {DIFFERENT} objects differ: another shape, size, color or material, "
    f"or more than {APART:g} units away. Rotation, camera and lights do not count."
)
Categories = Counter[tuple[str, str, str, str]]


class FoundScenes:
    """Distinct hits in the order in which they came, proposals that were rejected included.

    A hit that is distinct from all kept ones but one, and has more confidence than that one, takes its place.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._kept: list[tuple[Categories, Record]] = []
        self.hits = 0
        self.best = 0.0  # best confidence of anything rendered

    @property
    def records(self) -> list[Record]:
        """The distinct ones."""
        return [record for _, record in self._kept]

    def add(self, records: Iterable[Record]) -> None:
        """Take in what hits and is distinct from all before."""
        for record in records:
            if not record.is_rendered:
                continue
            log_probs = np.array(record.log_probs)
            self.best = max(self.best, self._target.confidence(log_probs))
            if self._target.is_hit(log_probs):
                self.hits += 1
                self._keep(record)

    def _keep(self, record: Record) -> None:
        held = _categories(record.scene)
        alike = [
            place
            for place, (others, other) in enumerate(self._kept)
            if not _are_distinct(held, record.scene, others, other.scene)
        ]
        if not alike:
            self._kept.append((held, record))
        elif len(alike) == 1 and self._confidence(record) > self._confidence(self._kept[alike[0]][1]):
            self._kept[alike[0]] = (held, record)

    def _confidence(self, record: Record) -> float:
        return self._target.confidence(np.array(record.log_probs))


def are_distinct(one: Scene, other: Scene) -> bool:
    """Whether two scenes count as distinct, see RULE."""
    return _are_distinct(_categories(one), one, _categories(other), other)


def _are_distinct(held: Categories, one: Scene, others: Categories, other: Scene) -> bool:
    most = max(len(one.objects), len(other.objects))
    needed = min(DIFFERENT, most)
    if most - (held & others).total() >= needed:  # even if all positions agreed
        return True
    return most - _in_common(one, other) >= needed


def _in_common(one: Scene, other: Scene) -> int:
    """How many objects two scenes share, matched as well as they can be."""
    alike = np.array([[_are_alike(a, b) for b in other.objects] for a in one.objects], dtype=float)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    return int(alike[rows, columns].sum())


def _are_alike(a: SceneObject, b: SceneObject) -> bool:
    return a.category == b.category and float(np.hypot(a.x - b.x, a.y - b.y)) <= APART


def _categories(scene: Scene) -> Categories:
    return Counter(item.category for item in scene.objects)
