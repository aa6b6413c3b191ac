"""Families of an audit: for each way in which a model fails, the rules that say when (`rules`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy

import numpy as np

from trex.families.family import Family, rows
from trex.families.one_question import Shows
from trex.families.pattern import Pattern
from trex.families.rules import Bools, find_rules
from trex.families.symptom import Failure, Symptom
from trex.scenes.conditions import (
    Asked,
    Condition,
    Level,
    object_conditions,
    question_conditions,
    scene_conditions,
)
from trex.scenes.graph import Facts
from trex.scenes.questions.variants import Ints
from trex.scenes.vocabulary import Vocabulary

LEAST_EVENTS = 5  # failures that a family is made of
LEVELS: tuple[Level, ...] = ("object", "scene", "question")
Vocabularies = dict[Level, tuple[Condition, ...]]


def conditions_of(vocabulary: Vocabulary) -> Vocabularies:
    """The conditions of each level that rules may name."""
    of_scene = scene_conditions()
    return {
        "object": (*object_conditions(vocabulary), *of_scene),
        "scene": of_scene,
        "question": (*question_conditions(vocabulary), *of_scene),
    }


class Situation:
    """One scene for any number of families: what failed in it, and for which of its units which conditions hold.

    Units are the scene's objects, the scene itself, or its questions, with true answers `truths`; `questions` gives
    the questions. Tables of conditions are made when they are first needed. `showing` restricts which units can fail.
    `is_untraced`: an answer about it was wrong, and it is not known what failed.
    """

    _shows: Shows | None = None

    def __init__(
        self,
        facts: Facts,
        failures: Sequence[Failure],
        conditions: Vocabularies,
        truths: Sequence[str] = (),
        questions: Callable[[], Sequence[Asked]] = tuple,
        is_untraced: bool = False,
    ) -> None:
        self.facts, self.failures, self.is_untraced = facts, failures, is_untraced
        self._truths, self._conditions, self._questions = truths, conditions, questions
        self._tables: dict[Level, Bools] = {}

    def table(self, level: Level) -> Bools:
        """(units, conditions): which conditions of a level hold for the scene's units, 7 kB for 50 questions."""
        if level not in self._tables:
            questions = self._questions() if level == "question" else ()
            self._tables[level] = rows(level, self._conditions[level], self.facts, questions)
        return self._tables[level]

    def meets(self, level: Level, conditions: Iterable[Condition]) -> Bools:
        """(units,): which units meet all of these conditions of a level."""
        keys = [condition.key for condition in self._conditions[level]]
        found: Bools = self.table(level)[:, [keys.index(condition.key) for condition in conditions]].all(
            axis=1
        )
        return found

    def showing(self, shows: Shows) -> Situation:
        """The scene, in which only those units can fail that a run's one question can show."""
        shown = copy(self)
        shown._shows = shows
        return shown

    def can_show(self, symptom: Symptom, value: str = "") -> Bools:
        """(units,): which units can show a symptom, by being taken for this value if one is named."""
        return self.times(symptom, value) > 0

    def times(self, symptom: Symptom, value: str = "") -> Ints:
        """(units,): 1 for each unit that can show a symptom, 0 for the others; more as `OneQuestion.shows` counts."""
        can = symptom.can_show(len(self.table(symptom.level)), self._truths, self.facts.scene, value).astype(
            int
        )
        return can if self._shows is None else can * self._shows(self.facts, symptom, value)

    def holds(self, family: Family) -> Bools:
        """(units,): as `Family.holds`."""
        found: Bools = self.meets(family.symptom.level, family.pattern.conditions)
        return found & self.can_show(family.symptom, family.value)

    def everywhere(self, family: Family) -> set[int]:
        """The units that fail as the family says, whether its conditions hold or not."""
        return {failure.unit for failure in self.failures if family.covers(failure.symptom, failure.value)}

    def values(self, family: Family) -> list[str]:
        """What each unit that fails in the family's way under its conditions was taken for, whatever that is."""
        failed, *_ = self.failing(wider := family.wider)
        return [
            failure.value
            for failure in self.failures
            if wider.covers(failure.symptom, failure.value) and failure.unit in failed
        ]

    def failing(self, family: Family) -> tuple[list[int], int, int]:
        """The units that fail under the family's conditions; of the units that can, how many meet these, and all."""
        holds = self.holds(family)
        failed = sorted(unit for unit in self.everywhere(family) if holds[unit])
        return failed, int(holds.sum()), int(self.can_show(family.symptom, family.value).sum())


def discover(scenes: Sequence[Situation], vocabulary: Vocabulary) -> list[Family]:
    """The families of these scenes, those with the most failures first; a function of the scenes alone."""
    conditions = conditions_of(vocabulary)
    shown = {failure.symptom for scene in scenes for failure in scene.failures}
    families: list[Family] = []
    for symptom in sorted(shown, key=lambda item: (LEVELS.index(item.level), item.what)):
        families += _of_symptom(symptom, conditions[symptom.level], scenes)
    return most_first(families)


def most_first(families: Iterable[Family]) -> list[Family]:
    """Families in the order of how many failures they were made of."""
    return sorted(families, key=lambda family: (-sum(n for *_, n in family.became), family.symptom.what))


def _of_symptom(
    symptom: Symptom, conditions: Sequence[Condition], scenes: Sequence[Situation]
) -> list[Family]:
    """A family for each rule for a symptom, among the units that can show it."""
    can = [scene.can_show(symptom) for scene in scenes]
    table = np.concatenate(
        [scene.table(symptom.level)[mine] for scene, mine in zip(scenes, can, strict=True)]
    )
    starts = np.cumsum([0, *(int(mine.sum()) for mine in can)])
    became = {
        int(starts[k] + can[k][: failure.unit].sum()): (was(scene, failure), failure.value)
        for k, scene in enumerate(scenes)
        for failure in scene.failures
        if failure.symptom == symptom and can[k][failure.unit]  # "11" for 10 is more than a scene has
    }
    events, left = (np.full(len(table), value, dtype=np.bool_) for value in (False, True))
    events[list(became)] = True
    found = []
    for rule in find_rules(table, events, least_events=LEAST_EVENTS):
        inside = left & table[:, list(rule.conditions)].all(axis=1)
        left &= ~inside
        counts = counted(became[int(k)] for k in np.flatnonzero(inside & events))
        named = {*rule.conditions, *of_truth(conditions, symptom, counts)}
        found.append(Family(Pattern.of(conditions[c] for c in sorted(named)), symptom, counts))
    return found


def stated(
    symptom: Symptom,
    conditions: Sequence[Condition],
    columns: Iterable[int],
    failures: Iterable[tuple[Situation, Failure]],
) -> Family:
    """The family of failures under these of the conditions, and what their units are in truth if that is one thing."""
    became = counted((was(scene, failure), failure.value) for scene, failure in failures)
    named = {*columns, *of_truth(conditions, symptom, became)}
    return Family(Pattern.of(conditions[c] for c in sorted(named)), symptom, became)


def of_truth(
    conditions: Sequence[Condition], symptom: Symptom, became: Sequence[tuple[str, str, int]]
) -> list[int]:
    """The place of the condition that says what all misread units are in truth; none if they differ in it.

    A sentence speaks of cylinders where only cylinders were seen to be misread, as those of searches do. The failures
    alone may not show that this matters: where nearly all units that meet the other conditions are cylinders, it is no
    gain to say so, and still more precise.
    """
    truths = {truth for truth, *_ in became}
    keys = {f"{symptom.what} {truth}" for truth in truths} if len(truths) == 1 else set()
    return [k for k, condition in enumerate(conditions) if condition.key in keys]


def was(scene: Situation, failure: Failure) -> str:
    """What a unit is in truth: the value of an object's misread attribute, or the true answer."""
    if failure.symptom.level != "object":
        return failure.truth
    value: str = getattr(scene.facts.scene.objects[failure.unit], failure.symptom.what, failure.truth)
    return value


def counted(became: Iterable[tuple[str, str]]) -> tuple[tuple[str, str, int], ...]:
    """How often each pair of what a unit is and what it was taken for is there, the most frequent first."""
    counts = Counter(became)
    return tuple(sorted(((*pair, n) for pair, n in counts.items()), key=lambda row: (-row[2], row)))
