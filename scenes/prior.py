"""The prior of realistic scenes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trex.foundation.errors import InputError
from trex.foundation.own_code import called, code_hash
from trex.scenes.camera import Floats
from trex.scenes.properties import RADIUS
from trex.scenes.questions.wrong_answer import WrongAnswer
from trex.scenes.scene import NOISE_SEEDS, NUISANCES, TAU, Nuisances, Scene, SceneObject
from trex.scenes.validity import BEHIND, HALF_WIDTH, MIN_GAP, MIN_MARGIN, RIGHT, is_valid
from trex.scenes.vocabulary import CLEVR, Category, Vocabulary

# Half the width of the turned square along CLEVR's ground directions.
SPAN = HALF_WIDTH * (abs(RIGHT[0]) + abs(RIGHT[1]))
MAX_OBJECTS = 10  # as in CLEVR
MAX_BATCHES = 20_000
MAX_SCENES = 100_000
PROBES = 64  # scenes by whose verdicts a condition is known


@dataclass(frozen=True)
class Condition:
    """A predicate of scenes, and what readers call it."""

    predicate: Callable[[Scene], bool]
    words: str

    def holds(self, scene: Scene) -> bool:
        """Whether a scene meets it; InputError if the predicate fails."""
        with called(f"the condition {self.words!r}"):
            return bool(self.predicate(scene))

    @cached_property
    def key(self) -> str:
        """32 hex digits that change with the predicate's code, and with what it says of PROBES scenes."""
        rng, prior = np.random.default_rng(0), ScenePrior(n_objects=(3, 5))
        said = "".join(self._said(prior.sample(rng)) for _ in range(PROBES))
        return hashlib.sha256(f"{code_hash(self.predicate)} {said}".encode()).hexdigest()[:32]

    def _said(self, scene: Scene) -> str:
        """Its verdict on a scene of CLEVR's, which it need not be made for: it may ask for a seventh object."""
        try:
            return str(int(self.holds(scene)))
        except InputError:
            return "-"


@dataclass(frozen=True)
class ScenePrior:
    """CLEVR's scenes: the number of objects uniform, then everything else uniform over the valid scenes of that number.

    Every allowed category is equally likely, x and y are uniform within 3, the rotation within a turn, the nuisances
    in CLEVR's ranges (clevr-dataset-gen, render_images.py), the noise seed over all seeds. With `wrong`, this
    distribution given that those answers are wrong; with `conditions`, given that they hold.

    Parameters
    ----------
    vocabulary : Vocabulary, default CLEVR's
        Shapes, sizes, colors and materials, without what is revoked. Example: CLEVR.
    n_objects : pair of int, default (3, 10)
        Fewest and most objects, 1 to 10. Example: n_objects=(3, 5).
    wrong : WrongAnswer, default None
        Only scenes in which these answers are wrong. Example: wrong=WrongAnswer(program, ("1",)).
    conditions : tuple of Condition, default ()
        What `where` adds. Example: conditions=prior.conditions.
    """

    vocabulary: Vocabulary = CLEVR
    n_objects: tuple[int, int] = (3, 10)
    wrong: WrongAnswer | None = None
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        low, high = self.n_objects
        if low > high:
            raise InputError(f"objects {low}-{high} is reversed; give the smaller number first")
        if not 1 <= low <= high <= MAX_OBJECTS:
            raise InputError(
                f"objects {low}-{high} is out of range; CLEVR's ground has room for 1 to {MAX_OBJECTS}"
            )

    @property
    def world(self) -> tuple[object, ...]:
        """What may occur and how often: equal for equal distributions."""
        condition = (self.condition_key,) if self.condition_key else ()
        return (self.vocabulary.combinations(), self.vocabulary.cards, self.n_objects, *condition)

    @property
    def condition_key(self) -> str:
        """What scenes must meet besides, as text that is equal for equal conditions; "" for nothing."""
        wrong = [] if self.wrong is None else [self.wrong.key]
        return " ".join([*wrong, *(each.key for each in self.conditions)])

    @property
    def condition_words(self) -> str:
        """The same for readers."""
        wrong = [] if self.wrong is None else [self.wrong.words]
        return "; ".join([*wrong, *(each.words for each in self.conditions)])

    def where(self, predicate: Callable[[Scene], bool], words: str = "") -> ScenePrior:
        """This prior given that a predicate holds, exactly: other scenes are drawn and rejected.

        A search refuses a predicate that fewer than 1 in 100 scenes meet.

        Parameters
        ----------
        predicate : callable
            From a Scene to a bool; `scene.objects` have `shape`, `color`, `material`, `size`, `x` and `y`.
        words : str, default "only where" and the predicate's name
            What reports call the condition. Example: words="a sphere first".

        Examples
        --------
        >>> import trex
        >>> prior = trex.ScenePrior(n_objects=(3, 5)).where(lambda scene: scene.objects[0].shape == "sphere")
        """
        if not callable(predicate):
            raise InputError(f"where takes a function of a scene, not a {type(predicate).__name__}")
        name = getattr(predicate, "__name__", type(predicate).__name__)
        told = words or ("only where a condition holds" if name == "<lambda>" else f"only where {name} holds")
        return replace(self, conditions=(*self.conditions, Condition(predicate, told)))

    def meets(self, scene: Scene) -> bool:
        """Whether a scene meets `wrong` and `conditions`.

        Parameters
        ----------
        scene : Scene
            Any scene. Example: hit.scene.
        """
        is_wrong = self.wrong is None or self.wrong.is_wrong(scene)
        return is_wrong and all(each.holds(scene) for each in self.conditions)

    def sample(self, rng: np.random.Generator) -> Scene:
        """One independent draw, exact: candidates are drawn until one is valid.

        With conditions, whole scenes are drawn, their number of objects too, until all hold; InputError if they hold
        for none of MAX_SCENES.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness. Example: np.random.default_rng(0).
        """
        for _ in range(MAX_SCENES):
            scene = self._sample(rng)
            if self.meets(scene):
                return scene
        raise InputError(f"none of {MAX_SCENES:,} scenes meets the condition {self.condition_words!r}")

    def _sample(self, rng: np.random.Generator) -> Scene:
        low, high = self.n_objects
        n = int(rng.integers(low, high + 1))
        batch = min(1 << (n + 3), 1 << 13)
        for _ in range(MAX_BATCHES):
            for scene in self.candidates(rng, n, batch):
                if is_valid(scene, self.vocabulary):
                    return scene
        raise InputError(
            f"found no valid scene of {n} objects in {MAX_BATCHES * batch} attempts; use fewer objects"
        )

    def log_density(self, scene: Scene) -> float:
        """Natural log of the density, -inf outside the support.

        Normalized before invalid scenes are rejected: it omits the log of the share of valid scenes of that number,
        which has no closed form, and the log of the conditions' probability. Both cancel in every
        proposal here, since each either keeps the number of objects or draws the whole scene from this prior.

        Parameters
        ----------
        scene : Scene
            Any scene. Example: hit.scene.
        """
        low, high = self.n_objects
        if not low <= len(scene.objects) <= high or not is_valid(scene, self.vocabulary):
            return -math.inf
        if not self.meets(scene):
            return -math.inf
        each = len(scene.objects) * log_object_density(self.vocabulary)
        return each + LOG_NUISANCES_DENSITY + LOG_NOISE - math.log(high - low + 1)

    def candidates(self, rng: np.random.Generator, n: int, batch: int) -> list[Scene]:
        """Those of `batch` independent scenes of n objects that keep distances and margins, visible or not.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness. Example: np.random.default_rng(0).
        n : int
            Objects in each scene, 1 to 10. Example: 5.
        batch : int
            Number of scenes to try. Example: 256.
        """
        combinations = self.vocabulary.combinations()
        where = draw_positions(rng, batch, n)
        choice = rng.integers(len(combinations), size=(len(where), n))
        radius = np.array([RADIUS[size] for _, size, _, _ in combinations])[choice]
        kept = np.flatnonzero(_keeps_distance(where, radius))
        return [
            Scene(
                _objects(rng, [combinations[c] for c in choice[k]], where[k]),
                draw_nuisances(rng),
                draw_noise(rng),
            )
            for k in kept
        ]


def draw_positions(rng: np.random.Generator, batch: int, n: int) -> Floats:
    """(k, n, 2) uniform on the ground, given the margins along both of CLEVR's directions; k <= batch.

    Along one direction these are n hard rods on a line: draw n points on the line shortened by (n - 1) margins, and
    insert the margins again, in order (Tonks 1936). The two directions of a box around the ground are independent;
    layouts with a point of the box outside the ground are dropped.
    """
    free_length = np.float32(2.0 * SPAN - (n - 1) * MIN_MARGIN)
    drawn = np.ascontiguousarray(rng.random((batch, n), dtype=np.float32).T)
    behind = rng.random((n, batch), dtype=np.float32) * free_length - np.float32(SPAN)
    # The outermost points leave the ground most often: all others are placed, which takes long, only where these stay.
    for i, outermost in ((0, np.min), (n - 1, np.max)):
        right = _spaced(outermost(drawn, axis=0), i, free_length)
        below = (behind[:i] < behind[i]).sum(axis=0, dtype=np.int8)
        below += (behind[i + 1 :] <= behind[i]).sum(axis=0, dtype=np.int8)
        kept = np.flatnonzero(_on_ground(right, behind[i] + below * np.float32(MIN_MARGIN)))
        drawn, behind = drawn[:, kept], behind[:, kept]
    behind += _ranks(behind) * np.float32(MIN_MARGIN)
    right = _spaced(np.sort(drawn, axis=0), np.arange(n, dtype=np.float32)[:, None], free_length)
    stay = _on_ground(right, behind).all(axis=0)
    both = np.stack([right[:, stay], behind[:, stay]], axis=-1).astype(np.float64)  # (n, k, 2)
    where = (both @ np.array([RIGHT, BEHIND])).transpose(1, 0, 2)
    return _shuffled(rng, where)


def _spaced(drawn: NDArray[np.float32], i: ArrayLike, free_length: np.float32) -> NDArray[np.float32]:
    """The i-th of sorted points of [0, 1), on the line, with i margins before it."""
    return drawn * free_length - np.float32(SPAN) + np.asarray(i, np.float32) * np.float32(MIN_MARGIN)


def _on_ground(right: NDArray[np.float32], behind: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether points given along CLEVR's directions lie on the ground."""
    x, y = (right * RIGHT[axis] + behind * BEHIND[axis] for axis in (0, 1))
    inside: NDArray[np.bool_] = (np.abs(x) < HALF_WIDTH) & (np.abs(y) < HALF_WIDTH)
    return inside


def _ranks(points: NDArray[np.float32]) -> NDArray[np.int8]:
    """For each point of a column (n, batch), the number of points below it; of equal ones, the first is above."""
    later = np.triu(np.ones((len(points), len(points)), dtype=bool))[..., None]
    below = (points < points[:, None]) | ((points == points[:, None]) & later)  # (n, n, batch)
    ranks: NDArray[np.int8] = below.sum(axis=1, dtype=np.int8) - np.int8(1)  # but itself
    return ranks


def _shuffled(rng: np.random.Generator, where: Floats) -> Floats:
    """The same layouts (k, n, 2) with their points in random order: an object's index must not reveal its position."""
    order = np.argsort(rng.random(where.shape[:2]), axis=1)
    return np.take_along_axis(where, order[..., None], axis=1)


def _keeps_distance(where: Floats, radius: Floats) -> NDArray[np.bool_]:
    """Whether all footprints are apart, (k,)."""
    first, second = np.triu_indices(where.shape[1], 1)
    gap = np.hypot(*np.moveaxis(where[:, first] - where[:, second], -1, 0))
    kept: NDArray[np.bool_] = np.all(gap - radius[:, first] - radius[:, second] >= MIN_GAP, axis=1)
    return kept


def _objects(rng: np.random.Generator, categories: list[Category], where: Floats) -> tuple[SceneObject, ...]:
    turns = rng.uniform(0.0, TAU, size=len(categories))
    return tuple(
        SceneObject(*category, float(x), float(y), float(turn))
        for category, (x, y), turn in zip(categories, where, turns, strict=True)
    )


def draw_object(rng: np.random.Generator, vocabulary: Vocabulary) -> SceneObject:
    """One object, independent of the others: its density is exp(`log_object_density`)."""
    combinations = vocabulary.combinations()
    category = combinations[int(rng.integers(len(combinations)))]
    x, y = rng.uniform(-HALF_WIDTH, HALF_WIDTH, size=2)
    return SceneObject(*category, float(x), float(y), float(rng.uniform(0.0, TAU)))


def log_object_density(vocabulary: Vocabulary) -> float:
    """Log density of one object: 1 / (categories x ground x turn)."""
    return -math.log(len(vocabulary.combinations()) * (2 * HALF_WIDTH) ** 2 * TAU)


def draw_nuisances(rng: np.random.Generator) -> Nuisances:
    """All nuisances, uniform in their ranges: their log density is `LOG_NUISANCES_DENSITY`."""
    return Nuisances().mapped(lambda _, reach: float(rng.uniform(-reach, reach)))


def draw_noise(rng: np.random.Generator) -> int:
    """A noise seed, each equally likely: its log probability is `LOG_NOISE`."""
    return int(rng.integers(NOISE_SEEDS))


LOG_NOISE = -math.log(NOISE_SEEDS)
LOG_NUISANCES_DENSITY = -sum(part.n * math.log(2 * part.reach) for part in NUISANCES)
