"""The distribution that realistic scenes come from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scenes.camera import Floats
from scenes.errors import InputError
from scenes.scene import TAU, Nuisances, Scene, SceneObject, Vec3
from scenes.validity import BEHIND, HALF_WIDTH, MIN_GAP, MIN_MARGIN, REACH, RIGHT, is_valid
from scenes.vocabulary import CLEVR, RADIUS, Vocabulary

# Half the width of the turned square along CLEVR's ground directions.
SPAN = HALF_WIDTH * (abs(RIGHT[0]) + abs(RIGHT[1]))
MAX_OBJECTS = 10  # as in CLEVR
MAX_BATCHES = 20_000


@dataclass(frozen=True)
class ScenePrior:
    """CLEVR's scenes: the number of objects uniform, then all else uniform over the valid scenes of that number.

    Every allowed category is equally likely, x and y are uniform within 3, the rotation in a turn, the nuisances
    in CLEVR's ranges (clevr-dataset-gen, render_images.py).
    """

    vocabulary: Vocabulary = CLEVR
    n_objects: tuple[int, int] = (3, 10)

    def __post_init__(self) -> None:
        low, high = self.n_objects
        if not 1 <= low <= high <= MAX_OBJECTS:
            raise InputError(f"objects {low}-{high} is not possible; CLEVR's ground holds 1 to {MAX_OBJECTS}")

    def sample(self, rng: np.random.Generator) -> Scene:
        """One independent draw, exact: candidates are drawn until one is valid."""
        low, high = self.n_objects
        n = int(rng.integers(low, high + 1))
        batch = min(1 << (n + 2), 1 << 13)
        for _ in range(MAX_BATCHES):
            for scene in self._candidates(rng, n, batch):
                if is_valid(scene, self.vocabulary):
                    return scene
        raise InputError(f"no valid scene of {n} objects among {MAX_BATCHES * batch} tries; ask for fewer objects")

    def log_density(self, scene: Scene) -> float:
        """Natural log of the density, -inf outside the support.

        Normalized before scenes are rejected as invalid: the log of the share of valid scenes of that number, which
        has no closed form, is left out. It cancels in every proposal here, since each either keeps the number of
        objects or draws the whole scene from this prior.
        """
        low, high = self.n_objects
        if not low <= len(scene.objects) <= high or not is_valid(scene, self.vocabulary):
            return -math.inf
        each = len(scene.objects) * log_object_density(self.vocabulary)
        return each + LOG_NUISANCES_DENSITY - math.log(high - low + 1)

    def _candidates(self, rng: np.random.Generator, n: int, batch: int) -> list[Scene]:
        """Those of a batch that keep the distances and margins (visibility is not looked at)."""
        combinations = self.vocabulary.combinations()
        choice = rng.integers(len(combinations), size=(batch, n))
        radius = np.array([RADIUS[size] for _, size, _, _ in combinations])[choice]
        where = draw_positions(rng, batch, n)
        rotation = rng.uniform(0.0, TAU, size=(batch, n))
        shifts = [draw_nuisances(rng)]
        kept = np.flatnonzero(_keeps_distance(where, radius))
        shifts += [draw_nuisances(rng) for _ in kept[1:]]
        return [
            Scene(_objects([combinations[c] for c in choice[k]], where[k], rotation[k]), shift)
            for k, shift in zip(kept, shifts, strict=False)
        ]


def draw_positions(rng: np.random.Generator, batch: int, n: int) -> Floats:
    """(batch, n, 2) uniform in a box around the ground, given that the margins along both directions are kept.

    Along one direction these are n hard rods on a line: draw n points on the line shortened by (n - 1) margins, sort
    them, and put the margins back in (Tonks 1936). The two directions are independent; points of the box that lie
    outside the ground are for the caller to reject.
    """
    free = 2.0 * SPAN - (n - 1) * MIN_MARGIN
    ranks = np.arange(n) * MIN_MARGIN - SPAN
    along_right = np.sort(rng.uniform(0.0, free, size=(batch, n)), axis=1) + ranks
    along_behind = np.sort(rng.uniform(0.0, free, size=(batch, n)), axis=1) + ranks
    # Which point has which rank along the one direction, and along the other, is uniform.
    along_right = rng.permuted(along_right, axis=1)
    along_behind = rng.permuted(along_behind, axis=1)
    return along_right[..., None] * np.asarray(RIGHT) + along_behind[..., None] * np.asarray(BEHIND)


def _keeps_distance(where: Floats, radius: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(batch,) whether all points are on the ground and all footprints apart."""
    inside = np.all((where >= -HALF_WIDTH) & (where < HALF_WIDTH), axis=(1, 2))
    first, second = np.triu_indices(where.shape[1], 1)
    some = where[inside]
    gap = np.hypot(*np.moveaxis(some[:, first] - some[:, second], -1, 0))
    sizes = radius[inside]
    apart = np.all(gap - sizes[:, first] - sizes[:, second] >= MIN_GAP, axis=1)
    kept = np.zeros(len(where), dtype=np.bool_)
    kept[np.flatnonzero(inside)[apart]] = True
    return kept


def _objects(categories: list[tuple[str, str, str, str]], where: Floats, rotation: Floats) -> tuple[SceneObject, ...]:
    return tuple(
        SceneObject(*category, float(x), float(y), float(turn))
        for category, (x, y), turn in zip(categories, where, rotation, strict=True)
    )


def draw_object(rng: np.random.Generator, vocabulary: Vocabulary) -> SceneObject:
    """One object, whatever the others are: its density is exp(`log_object_density`)."""
    combinations = vocabulary.combinations()
    category = combinations[int(rng.integers(len(combinations)))]
    x, y = rng.uniform(-HALF_WIDTH, HALF_WIDTH, size=2)
    return SceneObject(*category, float(x), float(y), float(rng.uniform(0.0, TAU)))


def log_object_density(vocabulary: Vocabulary) -> float:
    """Log density of one object: 1 / (categories x ground x turn)."""
    return -math.log(len(vocabulary.combinations()) * (2 * HALF_WIDTH) ** 2 * TAU)


def draw_nuisances(rng: np.random.Generator) -> Nuisances:
    def offset(reach: float) -> Vec3:
        x, y, z = rng.uniform(-reach, reach, size=3)
        return (float(x), float(y), float(z))

    return Nuisances(**{name: offset(reach) for name, reach in REACH.items()})


LOG_NUISANCES_DENSITY = -sum(3 * math.log(2 * reach) for reach in REACH.values())
