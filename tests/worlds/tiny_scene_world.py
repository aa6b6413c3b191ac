"""Real scenes and real proposals in a world that costs microseconds: a bird's eye picture, no occlusion.

The prior is `ScenePrior` without its visibility rule (so that no rays are cast); everything else is the real thing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tests.simulations.toy import Pixel
from trex.clevr_models.fake import ColorArea
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence
from trex.inference.types import State, Target
from trex.scenes.moves.block_moves import (
    FreshScene,
    JitterObject,
    Mixture,
    RedrawCategory,
    RedrawNuisances,
    RedrawObjects,
    SceneMove,
    SwapObjects,
)
from trex.scenes.prior import LOG_NUISANCES_DENSITY, draw_nuisances, draw_object, log_object_density
from trex.scenes.properties import RADIUS, RGB
from trex.scenes.scene import NUISANCES, Scene, SceneObject
from trex.scenes.validity import BEHIND, HALF_WIDTH, MIN_GAP, MIN_MARGIN, RIGHT
from trex.scenes.vocabulary import CLEVR, CONE, Vocabulary

# Cones are of rubber only: a material that depends on the shape, as that of a shape of the user's own may.
VOCABULARY = CLEVR.introduce(CONE).revoke("metal cone")
HEIGHT_PX, WIDTH_PX = 8, 12
COUNTER = ColorArea(
    unit=1.0 / (HEIGHT_PX * WIDTH_PX), softness=0.3, width=0.5
)  # brown and gray count a little


def apart(a: SceneObject, b: SceneObject) -> bool:
    """CLEVR's gap and margins between two objects."""
    dx, dy = b.x - a.x, b.y - a.y
    margins = (abs(dx * RIGHT[0] + dy * RIGHT[1]), abs(dx * BEHIND[0] + dy * BEHIND[1]))
    return math.hypot(dx, dy) - RADIUS[a.size] - RADIUS[b.size] >= MIN_GAP and min(margins) >= MIN_MARGIN


@dataclass(frozen=True)
class GroundPrior:
    """Two or three objects, apart from each other; log_density leaves the same constant out as ScenePrior does."""

    vocabulary: Vocabulary = VOCABULARY
    n_objects: tuple[int, int] = (2, 3)

    def sample(self, rng: np.random.Generator) -> Scene:
        n = int(rng.integers(self.n_objects[0], self.n_objects[1] + 1))
        while True:
            scene = Scene(tuple(draw_object(rng, self.vocabulary) for _ in range(n)), draw_nuisances(rng))
            if self.log_density(scene) > -math.inf:
                return scene

    def log_density(self, scene: Scene) -> float:
        low, high = self.n_objects
        if not low <= len(scene.objects) <= high or not all(self.vocabulary.allows(o) for o in scene.objects):
            return -math.inf
        ground = all(-HALF_WIDTH <= v < HALF_WIDTH for o in scene.objects for v in (o.x, o.y))
        lights = all(-p.reach <= v < p.reach for p in NUISANCES for v in getattr(scene.nuisances, p.name))
        if not ground or not lights or not all(apart(a, b) for a, b in combinations(scene.objects, 2)):
            return -math.inf
        return len(scene.objects) * log_object_density(self.vocabulary) + LOG_NUISANCES_DENSITY


@dataclass(frozen=True)
class MapRenderer:
    """One pixel an object, in its color, brighter to the right and with the key light: x, y and nuisances matter."""

    def render(self, zs: Sequence[Scene]) -> list[Pixel]:
        return [Pixel(self._draw(z)) for z in zs]

    def _draw(self, z: Scene) -> np.ndarray:  # type: ignore[type-arg]
        pixels = np.full((HEIGHT_PX, WIDTH_PX, 3), 255, np.uint8)
        for item in z.objects:
            row = int((item.y + HALF_WIDTH) / (2 * HALF_WIDTH) * HEIGHT_PX)
            column = int((item.x + HALF_WIDTH) / (2 * HALF_WIDTH) * WIDTH_PX)
            light = 0.8 + 0.1 * z.nuisances.key[0] + 0.1 * item.x / HALF_WIDTH
            pixels[row, column] = (
                np.array(RGB[item.color]) * light * (0.9 if item.material == "rubber" else 1.0)
            )
        return pixels


def block_moves(prior: GroundPrior) -> Mixture:
    """The block kernel's moves, on this prior."""
    moves: tuple[SceneMove, ...] = (
        JitterObject(),
        RedrawCategory(prior.vocabulary),
        SwapObjects(),
        RedrawObjects(prior.vocabulary),
        RedrawNuisances(),
        FreshScene(prior),  # type: ignore[arg-type]
    )
    return Mixture(moves, (0.3, 0.25, 0.05, 0.3, 0.05, 0.05))


TARGET = high_confidence(COUNTER.labels, "1", width=0.15)


def ground_kernel(move: SceneMove | None = None, prior: GroundPrior = GroundPrior()) -> Metropolis[Scene]:
    scorer = Scorer(MapRenderer(), COUNTER, batch=100_000)
    return Metropolis(prior, move or block_moves(prior), scorer, TARGET)


def _count(attribute: str, value: str):  # type: ignore[no-untyped-def]
    return lambda state, target: float(sum(getattr(o, attribute) == value for o in state.z.objects))


def _spread(state: State[Scene], target: Target) -> float:
    xs = [o.x for o in state.z.objects]
    return max(xs) - min(xs)


STATISTICS = {
    "log weight": lambda state, target: target.log_weight(state.log_probs),
    "objects": lambda state, target: float(len(state.z.objects)),
    "red": _count("color", "red"),
    "rubber": _count("material", "rubber"),
    "cones": _count("shape", "cone"),
    "large": _count("size", "large"),
    "spread": _spread,
    "off center": lambda state, target: max(max(abs(o.x), abs(o.y)) for o in state.z.objects),
    "rotation": lambda state, target: state.z.objects[0].rotation,
    "key light": lambda state, target: state.z.nuisances.key[0],
}
