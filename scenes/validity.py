"""Which scenes CLEVR's generator would accept, by geometry alone."""

from __future__ import annotations

import numpy as np

from trex.scenes.camera import Floats
from trex.scenes.properties import RADIUS
from trex.scenes.scene import NOISE_SEEDS, NUISANCES, TAU, Nuisances, Scene
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


def problems(scene: Scene, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The faults of a scene, in words; empty if and only if it is valid."""
    found = [f"object {i}: {' '.join(o.category)} is not in the vocabulary"
             for i, o in enumerate(scene.objects) if not vocabulary.allows(o)]  # fmt: skip
    found += _out_of_range(scene)
    found += _too_close(scene)
    if not any("vocabulary" in line for line in found):
        pixels = visible_pixels(scene, vocabulary)
        found += [f"object {i}: {n} visible pixels, at least {MIN_PIXELS} needed"
                  for i, n in enumerate(pixels) if n < MIN_PIXELS]  # fmt: skip
    return tuple(found)


def positions(scene: Scene) -> Floats:
    """Ground positions (n, 2) in Blender units."""
    return np.array([(o.x, o.y) for o in scene.objects], dtype=np.float64).reshape(-1, 2)


def _in_range(scene: Scene) -> bool:
    return not _out_of_range(scene)


def _out_of_range(scene: Scene) -> list[str]:
    found = [f"object {i}: x {o.x:.3f}, y {o.y:.3f} must be in [-{HALF_WIDTH:g}, {HALF_WIDTH:g})"
             for i, o in enumerate(scene.objects)
             if not (-HALF_WIDTH <= o.x < HALF_WIDTH and -HALF_WIDTH <= o.y < HALF_WIDTH)]  # fmt: skip
    found += [f"object {i}: rotation {o.rotation:.3f} must be in [0, 2 pi)"
              for i, o in enumerate(scene.objects) if not 0.0 <= o.rotation < TAU]  # fmt: skip
    if not 0 <= scene.noise < NOISE_SEEDS:
        found.append(f"noise {scene.noise} must be in [0, {NOISE_SEEDS})")
    return found + _nuisances_out_of_range(scene.nuisances)


def _nuisances_out_of_range(nuisances: Nuisances) -> list[str]:
    return [f"{part.name} offset {getattr(nuisances, part.name)} must be in [-{part.reach:g}, {part.reach:g}) along "
            "each axis"
            for part in NUISANCES
            if not all(-part.reach <= value < part.reach for value in getattr(nuisances, part.name))]  # fmt: skip


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


def _too_close(scene: Scene) -> list[str]:
    if len(scene.objects) < 2:
        return []
    gap, margin = pair_clearances(scene)
    pairs = [(i, j) for i in range(len(scene.objects)) for j in range(i)]
    found = [f"objects {j} and {i}: gap {gap[i, j]:.3f}, at least {MIN_GAP} needed"
             for i, j in pairs if gap[i, j] < MIN_GAP]  # fmt: skip
    return found + [f"objects {j} and {i}: margin {margin[i, j]:.3f} along a direction, at least {MIN_MARGIN} needed"
                    for i, j in pairs if margin[i, j] < MIN_MARGIN]  # fmt: skip
