"""Which scenes CLEVR's generator would accept, by geometry alone."""

from __future__ import annotations

import numpy as np

from trex.scenes.camera import Floats
from trex.scenes.properties import RADIUS
from trex.scenes.scene import NOISE_SEEDS, NUISANCES, TAU, Scene
from trex.scenes.visibility import visible_pixels
from trex.scenes.vocabulary import Vocabulary

# clevr-dataset-gen: positions within 3, gap .25 between the footprints, margin .4 along the camera's ground
# directions, at least 200 visible pixels.
HALF_WIDTH = 3.0
MIN_GAP = 0.25
MIN_MARGIN = 0.4
MIN_PIXELS = 200
# The directions stored in every CLEVR v1.0 scene: those of the camera without its jitter.
RIGHT = (0.6563112735748291, 0.7544902563095093)
BEHIND = (-0.754490315914154, 0.6563112735748291)


def is_valid(scene: Scene, vocabulary: Vocabulary) -> bool:
    """Whether the scene is in the support of the prior."""
    return (
        all(vocabulary.allows(item) for item in scene.objects)
        and _in_range(scene)
        and _apart(scene)
        and bool(np.all(visible_pixels(scene, vocabulary) >= MIN_PIXELS))
    )


def positions(scene: Scene) -> Floats:
    """Ground positions (n, 2) in Blender units."""
    return np.array([(o.x, o.y) for o in scene.objects], dtype=np.float64).reshape(-1, 2)


def _in_range(scene: Scene) -> bool:
    return (
        all(-HALF_WIDTH <= o.x < HALF_WIDTH and -HALF_WIDTH <= o.y < HALF_WIDTH for o in scene.objects)
        and all(0.0 <= o.rotation < TAU for o in scene.objects)
        and 0 <= scene.noise < NOISE_SEEDS
        and all(
            -part.reach <= value < part.reach
            for part in NUISANCES
            for value in getattr(scene.nuisances, part.name)
        )
    )


def pair_clearances(scene: Scene) -> tuple[Floats, Floats]:
    """The gap between footprints (n, n), and the smaller distance (n, n) along CLEVR's two ground directions."""
    where = positions(scene)
    radius = np.array([RADIUS[o.size] for o in scene.objects])
    delta = where[:, None] - where[None]
    gap = np.hypot(delta[..., 0], delta[..., 1]) - radius[:, None] - radius[None]
    margin = np.minimum(np.abs(delta @ np.asarray(RIGHT)), np.abs(delta @ np.asarray(BEHIND)))
    return gap, margin


def _apart(scene: Scene) -> bool:
    if len(scene.objects) < 2:
        return True
    gap, margin = pair_clearances(scene)
    upper = np.triu_indices(len(scene.objects), 1)
    return bool(np.all(gap[upper] >= MIN_GAP) and np.all(margin[upper] >= MIN_MARGIN))
