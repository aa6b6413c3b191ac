"""Summaries of a scene that ignore the order of its objects; convergence is judged by them."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np

from trex.inference.statistics.diagnostics import basic_summaries
from trex.inference.types import Draw, Target
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Summary
from trex.worlds.latents import Latent, scene_of


def scene_summaries(target: Target, vocabulary: Vocabulary) -> dict[str, Summary]:
    """Confidence, log weight, the count of each value, the number of objects, and their mean distance."""
    found: dict[str, Summary] = dict(basic_summaries(target))
    for attribute in ATTRIBUTES:
        for value in vocabulary.available(attribute):
            found[f"number of {value} objects"] = partial(_count, attribute=attribute, value=value)
    found["number of objects"] = lambda draw: float(len(scene_of(draw.z).objects))
    found["mean distance"] = lambda draw: mean_distance(scene_of(draw.z))
    return found


def _count(draw: Draw[Latent], attribute: str, value: str) -> float:
    return float(sum(getattr(item, attribute) == value for item in scene_of(draw.z).objects))


def mean_distance(scene: Scene) -> float:
    """Mean distance between two objects in Blender units, 0 if there are fewer than two."""
    pairs = [np.hypot(a.x - b.x, a.y - b.y) for a, b in combinations(scene.objects, 2)]
    return float(np.mean(pairs)) if pairs else 0.0
