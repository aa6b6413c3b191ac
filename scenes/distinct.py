"""When two scenes count as distinct."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.scenes.scene import Scene, SceneObject

APART = 0.5  # Blender units; a small object is .7 wide
DIFFERENT = 2  # objects that must differ
RULE = (
    f"Two scenes count as distinct if at least {DIFFERENT} objects differ: another shape, size, color or material, "
    f"or more than {APART:g} units away. Rotation, camera and lights do not count."
)


def are_distinct(scene: Scene, other: Scene) -> bool:
    """Whether two scenes are distinct under RULE."""
    most = max(len(scene.objects), len(other.objects))
    needed = min(DIFFERENT, most)
    if most - _of_one_category(scene, other) >= needed:  # even if all positions matched
        return True
    return most - in_common(scene, other) >= needed


def in_common(scene: Scene, other: Scene) -> int:
    """The number of objects that two scenes share under the best matching."""
    from scipy.optimize import linear_sum_assignment

    if not _of_one_category(scene, other):
        return 0
    alike = np.array([[_are_alike(a, b) for b in other.objects] for a in scene.objects], dtype=float)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    return int(alike[rows, columns].sum())


def sharing_half(scenes: Sequence[Scene]) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, of scenes that share half of the objects of the larger one, and one at least."""
    kinds = {kind: k for k, kind in enumerate({item.category for scene in scenes for item in scene.objects})}
    counts = np.zeros((len(scenes), len(kinds)), np.int64)
    for row, scene in zip(counts, scenes, strict=True):
        np.add.at(row, [kinds[item.category] for item in scene.objects], 1)
    sizes, pairs = counts.sum(axis=1), list[tuple[int, int]]()
    for i, scene in enumerate(scenes):
        needed = np.maximum(1, np.maximum(sizes[i], sizes[i + 1 :]) / 2)
        at_most = np.minimum(counts[i], counts[i + 1 :]).sum(axis=1)  # if all positions matched
        pairs += [
            (i, i + 1 + int(k))
            for k in np.flatnonzero(at_most >= needed)
            if in_common(scene, scenes[i + 1 + k]) >= needed[k]
        ]
    return pairs


def _are_alike(a: SceneObject, b: SceneObject) -> bool:
    return a.category == b.category and float(np.hypot(a.x - b.x, a.y - b.y)) <= APART


def _of_one_category(scene: Scene, other: Scene) -> int:
    """How many objects of a scene pair with one of their category in the other, wherever that is."""
    left, paired = [(item.color, item.shape, item.size, item.material) for item in other.objects], 0
    for item in scene.objects:  # hits are compared two by two, so this is called most often
        kind = item.color, item.shape, item.size, item.material
        if kind in left:
            left.remove(kind)
            paired += 1
    return paired
