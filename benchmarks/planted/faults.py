"""Faults as data: in which scenes an answerer fails, and how."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.planted.claims import KEYED, Part, units
from benchmarks.planted.world import QUESTIONS, Known, Table
from trex.scenes.conditions import Asked, Bools, Condition, object_rows, question_rows
from trex.scenes.graph import Facts
from trex.scenes.scene import ATTRIBUTES, Scene, scene_id

MISSED, ANSWER = "missed", "answer"  # how a fault shows, besides the attribute that is misread
OUTSIDE: Mapping[str, Callable[[Scene, int], float]] = {
    "x": lambda scene, i: scene.objects[i].x,
    "distances": lambda scene, i: sum(sorted(_distances(scene, i))[:2]),
}
OUTSIDE_WORDS = {"x": "x", "distances": "the sum of its distances to the two nearest objects"}


@dataclass(frozen=True)
class Outside:
    """A number of an object, which no condition names, from `low` up to below `high`."""

    name: str
    low: float
    high: float

    def holds(self, scene: Scene, index: int) -> bool:
        """Whether it is so for an object."""
        return self.low <= OUTSIDE[self.name](scene, index) < self.high


@dataclass(frozen=True)
class Fault:
    """Objects under the conditions have `shows` (an attribute) taken for `value`, or are missed.

    With `shows` "answer", questions under the conditions are answered wrongly: one too many, the other of yes and no,
    another value. It fires in a share of the scenes of its region, chosen by their hash. `rate` is the share of prior
    scenes (questions, for answers) in its region.
    """

    keys: tuple[str, ...]
    shows: str
    value: str = ""
    fires: float = 1.0
    outside: Outside | None = None
    rate: float = 0.0

    @property
    def of_question(self) -> bool:
        """Whether it is a fault of a kind of question."""
        return self.shows == ANSWER

    @property
    def conditions(self) -> list[Condition]:
        """Its conditions."""
        return [_condition(key, self.of_question) for key in self.keys]

    @property
    def own(self) -> Part:
        """Its conditions on the unit: an object or a question."""
        mine = tuple((each.key, True) for each in self.conditions if each.part != "scene")
        return Part("question" if self.of_question else "object", mine)

    @property
    def around(self) -> Part:
        """Its conditions on the scene."""
        return Part("scene", tuple((each.key, True) for each in self.conditions if each.part == "scene"))

    @property
    def words(self) -> str:
        """For readers."""
        beyond = self.outside
        extra = (
            [f"{beyond.low:.2f} <= {OUTSIDE_WORDS[beyond.name]} < {beyond.high:.2f}"]
            if beyond is not None
            else []
        )
        does = {MISSED: "missed", ANSWER: "answered wrongly"}.get(
            self.shows, f"{self.shows} read as {self.value}"
        )
        often = "" if self.fires == 1.0 else f", in {self.fires:.0%}"
        return f"{' & '.join([*self.keys, *extra])}: {does}{often}"

    def objects(self, facts: Facts) -> Bools:
        """(n,): the objects of its region; none if it is a fault of questions."""
        if self.of_question:
            return np.zeros(len(facts.scene.objects), dtype=np.bool_)
        met: Bools = object_rows(facts, self.conditions).all(axis=1)
        return met & self._could(facts.scene)

    def fails(self, scene: Scene, index: int, seed: int) -> bool:
        """Whether it fires at an object of its region: the same for every noise seed of the scene."""
        return self.fires == 1.0 or chance(self.keys, _still(scene), index, seed) < self.fires

    def asked(self, facts: Facts, request: Asked) -> bool:
        """Whether a question is in its region."""
        return self.of_question and bool(question_rows(facts, [request], self.conditions).all())

    def fails_asked(self, scene: Scene, request: Asked, seed: int) -> bool:
        """Whether it fires at a question of its region."""
        return self.fires == 1.0 or chance(self.keys, _still(scene), request.program, seed) < self.fires

    def region(self, table: Table, known: list[Known]) -> Bools:
        """(rows,): the objects or the questions of its region."""
        met = units(self.own, table)
        of = table.question_of if self.of_question else table.object_of
        met = met & units(self.around, table)[of]
        if not self.of_question:
            first = np.searchsorted(table.object_of, np.arange(len(table)))
            for row in np.flatnonzero(met):
                scene = known[at := int(of[row])].scene
                met[row] = self._could_be(scene, int(row - first[at]))
        return met

    def _could(self, scene: Scene) -> Bools:
        return np.array([self._could_be(scene, i) for i in range(len(scene.objects))], dtype=np.bool_)

    def _could_be(self, scene: Scene, index: int) -> bool:
        if self.shows in ATTRIBUTES and getattr(scene.objects[index], self.shows) == self.value:
            return False
        return self.outside is None or self.outside.holds(scene, index)


@dataclass(frozen=True)
class Target:
    """An answerer: its faults, whether they are trained into a network, and what share fails without any pattern.

    `noise` is the share of objects misread by the scene's noise seed alone, `wording` that of questions answered
    wrongly by their words alone.
    """

    name: str
    faults: tuple[Fault, ...] = ()
    trained: bool = False
    noise: float = 0.0
    wording: float = 0.0
    seed: int = 0


def chance(*parts: object) -> float:
    """A number in [0, 1) that follows from the parts alone."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big") / 2**56


def expected_in_scenes(rate: float) -> float:
    """The share of scenes with a unit, if a scene has `rate` of them on average and they are independent."""
    return 1.0 - math.exp(-rate)


def per_question(count: int, n: int) -> float:
    """The share of questions among those about n scenes."""
    return count / (n * QUESTIONS)


def _still(scene: Scene) -> str:
    return scene_id(Scene(scene.objects, scene.nuisances))


def _condition(key: str, of_question: bool) -> Condition:
    order = ("question", "scene") if of_question else ("object", "scene")
    for subject in order:
        if (subject, key) in KEYED:
            return KEYED[(subject, key)]  # type: ignore[index]
    raise ValueError(f"condition {key!r} is not in the vocabulary of {order}")


def _distances(scene: Scene, index: int) -> list[float]:
    me = scene.objects[index]
    return [math.hypot(me.x - other.x, me.y - other.y) for k, other in enumerate(scene.objects) if k != index]
