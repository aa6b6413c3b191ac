"""Summaries of a scene that ignore the order of its objects; convergence is judged by them."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from trex.inference.statistics.diagnostics import basic_summaries
from trex.inference.types import Draw, Floats, Target
from trex.scenes.camera import axes
from trex.scenes.scene import ATTRIBUTES, NUISANCES, Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Summary


def scene_summaries(target: Target, vocabulary: Vocabulary, n_objects: tuple[int, int]) -> dict[str, Summary]:
    """Confidence, log weight, counts, distances between objects and to the camera, and the nuisances.

    The number of objects is among them where it varies.
    """
    found: dict[str, Summary] = dict(basic_summaries(target))
    for attribute in ATTRIBUTES:
        for value in vocabulary.available(attribute):
            found[f"number of {value} objects"] = partial(_count, attribute=attribute, value=value)
    if n_objects[0] < n_objects[1]:
        found["number of objects"] = lambda draw: float(len(draw.z.objects))
    found["mean distance"] = lambda draw: mean_distance(draw.z)
    found["least distance"] = lambda draw: least_distance(draw.z)
    found["mean depth"] = lambda draw: float(np.mean(depths(draw.z)))
    found["least depth"] = lambda draw: float(np.min(depths(draw.z)))
    for part in NUISANCES:
        # Its length: all coordinates are redrawn together.
        found[f"{part.words} offset"] = partial(_offset, name=part.name)
    return found


def _count(draw: Draw[Scene], attribute: str, value: str) -> float:
    return float(sum(getattr(item, attribute) == value for item in draw.z.objects))


def _offset(draw: Draw[Scene], name: str) -> float:
    return float(np.linalg.norm(getattr(draw.z.nuisances, name)))


def mean_distance(scene: Scene) -> float:
    """Mean distance between two objects in Blender units, 0 if there are fewer than two."""
    return float(np.mean(_distances(scene) or [0.0]))


def least_distance(scene: Scene) -> float:
    """Distance of the two nearest objects in Blender units, 0 if there are fewer than two."""
    return min(_distances(scene), default=0.0)


def depths(scene: Scene) -> Floats:
    """(n,): the distance from the camera, with its offset, to the ground below each object, in Blender units."""
    position = axes(scene.nuisances.camera)[0]
    return np.array([np.linalg.norm(position - (item.x, item.y, 0.0)) for item in scene.objects])


def _distances(scene: Scene) -> list[float]:
    return [float(np.hypot(a.x - b.x, a.y - b.y)) for a, b in combinations(scene.objects, 2)]
