"""Scenes near those that failed: changed copies, chosen to show which conditions a failure needs.

A failure that one scene shows fits any rule. A copy with some things changed, in which some conditions still hold,
tells rules apart by whether the model still fails (`trex.families.needs`). What the copies show is stated as a family,
and judged by random scenes as any other; no figure is made from copies, as they are no random scenes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from trex.auditing.probe import CHANGES, OBJECTS
from trex.families.discover import LEAST_EVENTS, Situation, conditions_of, stated, was
from trex.families.family import Family, rows
from trex.families.needs import Evidence, telling
from trex.families.symptom import Failure
from trex.inference.rng import AUDIT_STREAM, stream
from trex.scenes.conditions import Bools
from trex.scenes.edits import attribute_edits, leave_out
from trex.scenes.graph import facts_of
from trex.scenes.moves.block_moves import JitterObject, Mixture, RedrawObjects
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary

COPIES = 40  # of a scene that failed at most
SCENES = 2  # that failed in one way, of which copies are made
ROUND = 5  # copies of a scene that are examined before others are chosen
POOL = 400  # changed scenes that copies are chosen from
CHANGED = (1, 1, 2, 2, 3, 4)  # how many things are changed, each as likely
OWN, OTHER, LEFT_OUT, MOVED = "own attribute", "attribute of another", "another left out", "moved"
WAYS = (OWN, OTHER, LEFT_OUT, MOVED, *(way for way in CHANGES if way not in (OBJECTS, "noise")))
WEIGHTS = (0.25, 0.2, 0.2, 0.15, *(0.2 / (len(WAYS) - 4),) * (len(WAYS) - 4))
CERTAIN = 0.95  # probability from which on no further copy is made
STATED = 0.5  # probability that its conditions are needed, from which on a family is stated
NEAR = 5  # stream of random numbers of an audit, after that of `choice`
Kind = tuple[
    str, str, str, str
]  # a symptom's level and name, what the unit is in truth, what it is taken for
Start = tuple[Situation, Failure]


def unheld(scenes: Sequence[Situation], families: Sequence[Family]) -> list[Start]:
    """Up to SCENES scenes for each kind of failure that no family holds, the most frequent kinds first.

    Each with its failure. Wrong answers that no misreading explains are left out: copies say nothing about the
    question.
    """
    kinds: dict[Kind, list[Start]] = defaultdict(list)
    for scene in scenes:
        for failure in scene.failures:
            if failure.symptom.level != "question" and not is_held((scene, failure), families):
                kinds[_kind(scene, failure)].append((scene, failure))
    ordered = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    return [start for place in range(SCENES) for kind in ordered for start in kinds[kind][place : place + 1]]


def is_held(start: Start, families: Sequence[Family]) -> bool:
    """Whether one of these families holds a failure."""
    scene, failure = start
    return any(
        family.covers(failure.symptom, failure.value) and failure.unit in scene.failing(family)[0]
        for family in families
    )


def _kind(scene: Situation, failure: Failure) -> Kind:
    return failure.symptom.level, failure.symptom.what, was(scene, failure), failure.value


class Copies:
    """The copies of a scene that failed: which to make next, and what those that were examined show.

    `known` are examined random scenes, which say where the model does not fail so. Its choices are a function of these,
    of the seed and of what the copies have shown.
    """

    def __init__(
        self, start: Start, known: Sequence[Situation], vocabulary: Vocabulary, seed: int, number: int
    ) -> None:
        (scene, self.failure), symptom = start, start[1].symptom
        self._vocabulary, self._start = vocabulary, scene
        self._conditions = conditions_of(vocabulary)[symptom.level]
        self._columns = np.flatnonzero(scene.table(symptom.level)[self.failure.unit])
        self._learned, self._evidence, self._made = list[Situation](), Evidence(len(self._columns)), 0
        self.learn(known)
        self._moves = Mixture((JitterObject(), RedrawObjects(vocabulary, (1,))), (0.5, 0.5))
        rng = stream(seed, AUDIT_STREAM, NEAR, number)
        made = dict(self._changed(rng) for _ in range(POOL))
        made.pop(scene.facts.scene, None)
        self._pool = [
            (copy, unit)
            for copy, unit in made.items()
            if self._could_fail(copy, unit) and is_valid(copy, vocabulary)
        ]
        self._rows = [self._row(copy, unit) for copy, unit in self._pool]

    def choice(self, n: int) -> list[Scene]:
        """At most n further copies; none once what the failure needs is clear, or no copy would tell more."""
        n = min(n, COPIES - self._made)
        if n <= 0 or not self._pool or (found := self._evidence.needs()).probability >= CERTAIN:
            return []
        return [self._pool[k][0] for k in telling(found, np.array(self._rows), n)]

    def take(self, copies: Sequence[Scene]) -> None:
        """Note that these copies are made; they need not be those of `choice`, if a log of before has others."""
        taken = set(copies)
        left = [k for k, (copy, _) in enumerate(self._pool) if copy not in taken]
        self._pool, self._rows = [self._pool[k] for k in left], [self._rows[k] for k in left]
        self._made += len(copies)

    def learn(self, examined: Sequence[Situation]) -> None:
        """Take in examined scenes."""
        holds, failing = list[Bools](), list[Bools]()
        for scene in examined:
            table, failed = scene.table(self.failure.symptom.level), [e.unit for e in self._events(scene)]
            could = np.flatnonzero(scene.can_show(self.failure.symptom, self.failure.value))
            holds.append(table[could][:, self._columns])
            failing.append(np.isin(could, failed))
        if examined:
            self._evidence.add(np.concatenate(holds), np.concatenate(failing))
        self._learned += examined

    def stated(self) -> list[Family]:
        """The family of what the failure needs; none unless that is likely enough and enough failures show it."""
        found, symptom = self._evidence.needs(), self.failure.symptom
        columns = [int(self._columns[c]) for c in found.best]
        failures = [
            (scene, failure)
            for scene in self._learned
            for failure in self._events(scene)
            if scene.table(symptom.level)[failure.unit, columns].all()
        ]
        if not columns or found.included < STATED or len(failures) < LEAST_EVENTS:
            return []
        return [stated(symptom, self._conditions, columns, failures)]

    def _could_fail(self, scene: Scene, unit: int) -> bool:
        """Whether a unit is not already what it would be taken for."""
        symptom, value = self.failure.symptom, self.failure.value
        return bool(symptom.can_show(unit + 1, (), scene, value)[unit])

    def _events(self, scene: Situation) -> list[Failure]:
        """The failures of a scene that are of this kind."""
        mine = self.failure
        return [
            failure
            for failure in scene.failures
            if failure.symptom == mine.symptom and failure.value == mine.value
        ]

    def _row(self, scene: Scene, unit: int) -> Bools:
        """(m,): which of the conditions still hold for the unit of a copy."""
        facts = facts_of(scene, self._vocabulary)
        row: Bools = rows(self.failure.symptom.level, self._conditions, facts, ())[unit, self._columns]
        return row

    def _changed(self, rng: np.random.Generator) -> tuple[Scene, int]:
        """A copy with a few things changed, and the number that the unit has in it."""
        scene, unit = self._start.facts.scene, self.failure.unit
        for _ in range(rng.choice(CHANGED)):
            way = str(rng.choice(WAYS, p=WEIGHTS))
            if way in CHANGES:
                scene = CHANGES[way](self._vocabulary)(rng, scene)
            elif way == MOVED:
                scene = self._moves.propose(rng, scene)
            else:
                scene, unit = self._edited(rng, scene, unit, way)
        return scene, unit

    def _edited(self, rng: np.random.Generator, scene: Scene, unit: int, way: str) -> tuple[Scene, int]:
        """Another attribute of the unit or of another object, or another object left out."""
        is_object = self.failure.symptom.level == "object"
        others = [k for k in range(len(scene.objects)) if k != unit or not is_object]
        if way == LEFT_OUT:
            if len(scene.objects) < 2:
                return scene, unit
            gone = int(rng.choice(others))
            return leave_out(scene, gone), unit - (is_object and gone < unit)
        index = unit if way == OWN and is_object else int(rng.choice(others or [unit]))
        edits = [edit for edit in attribute_edits(scene, self._vocabulary) if edit.index == index]
        if not edits:
            return scene, unit
        attributes = sorted({edit.attribute for edit in edits})  # each as likely, however many values it has
        attribute = attributes[int(rng.integers(len(attributes)))]
        values = [edit for edit in edits if edit.attribute == attribute]
        return values[int(rng.integers(len(values)))].apply(scene), unit
