"""Families of confident mistakes: what a model misreads, under which conditions, and in which units of a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trex.auditing.grouping.question_conditions import question_conditions, question_rows
from trex.auditing.sweeping.records import Examined
from trex.inference.subgroups.rules import Bools
from trex.scenes.conditions import (
    Asked,
    Condition,
    Facts,
    Level,
    OfObject,
    OfQuestion,
    OfScene,
    object_conditions,
    object_rows,
    scene_conditions,
    scene_row,
)
from trex.scenes.misreading import ATTRIBUTE_KINDS, MIRRORS, Misreading
from trex.scenes.questions.programs import YES_NO
from trex.scenes.vocabulary import Vocabulary

OTHER, NO_WORD, NO_NUMBER = "another value", "neither yes nor no", "no number"
WRONG = ("too few", "too many", "no for yes", "yes for no", OTHER, NO_WORD, NO_NUMBER)
MAX_COUNTED = 10  # objects of a CLEVR scene
SYMPTOMS = ("missed", "doubled", *ATTRIBUTE_KINDS, *MIRRORS, *WRONG)
NAMING = (*ATTRIBUTE_KINDS, "too few", "too many")  # symptoms whose sentence may name one value
CLEAR = 0.8  # share of a family's members from which on the most frequent value stands for all


@dataclass(frozen=True)
class Symptom:
    """How a model fails: an object misread in one way, directions mirrored, or a kind of wrong answer."""

    level: Level
    what: str


@dataclass(frozen=True)
class Family:
    """A symptom and the conditions under which it occurs; `cases` and `events` of the sweep, `became` what was said.

    `became` counts, for a misread attribute, (what it was, what it was taken for), and for a kind of wrong answer
    (the truth, the answer). `may_name` is False if other scenes did not show the value that stands out among these.
    """

    symptom: Symptom
    conditions: tuple[Condition, ...]
    cases: int
    events: int
    became: tuple[tuple[str, str, int], ...]
    may_name: bool = True

    @cached_property
    def value(self) -> str:
        """What the sentence says that a unit is taken for, or answered with; "" if it names no one value."""
        if not self.may_name or self.symptom.what not in NAMING:
            return ""
        return clear_value(said for _, said, n in self.became for _ in range(n))

    @property
    def wider(self) -> Family:
        """The family of all failures of its kind under its conditions, whatever a unit is taken for."""
        return replace(self, may_name=False)

    def covers(self, symptom: Symptom, said: str) -> bool:
        """Whether a unit with this symptom, taken for or answered with `said`, fails as the whole sentence says."""
        return symptom == self.symptom and self.value in ("", said)


@dataclass(frozen=True)
class Rules:
    """All conditions of each level, for one vocabulary."""

    vocabulary: Vocabulary

    @cached_property
    def _of_scene(self) -> tuple[OfScene, ...]:
        return scene_conditions()

    @cached_property
    def _of_object(self) -> tuple[OfObject | OfScene, ...]:
        return (*object_conditions(self.vocabulary), *self._of_scene)

    @cached_property
    def _of_question(self) -> tuple[OfQuestion | OfScene, ...]:
        return (*question_conditions(self.vocabulary), *self._of_scene)

    def conditions(self, level: Level) -> tuple[Condition, ...]:
        """The columns of `rows`."""
        if level == "object":
            return self._of_object
        return self._of_scene if level == "scene" else self._of_question

    def rows(self, level: Level, facts: Facts, asked: Sequence[Asked]) -> Bools:
        """(units, conditions) of one scene; its units are its objects, itself, or the questions asked."""
        if level == "object":
            return object_rows(facts, self._of_object)
        if level == "scene":
            return scene_row(facts, self._of_scene)
        return question_rows(facts, asked, self._of_question)

    def holds(self, family: Family, facts: Facts, asked: Sequence[Asked]) -> Bools:
        """(units,): for which units of a scene that can fail so the family's conditions all hold."""
        table = self.rows(family.symptom.level, facts, asked)
        return self.of_family(family, table) & can_fail(
            family.symptom, len(table), [one.truth for one in asked]
        )

    def of_family(self, family: Family, table: Bools) -> Bools:
        """(units,): the rows of a table of the family's level in which its conditions all hold."""
        keys = [one.key for one in self.conditions(family.symptom.level)]
        columns = [keys.index(one.key) for one in family.conditions]
        found: Bools = table[:, columns].all(axis=1)
        return found


def can_fail(symptom: Symptom, units: int, truths: Sequence[str]) -> Bools:
    """(units,): which units of a scene can show a symptom; `truths` are the true answers if the units are questions.

    No answer to "Is there a cube?" counts too few. Rates under a rule's conditions and elsewhere are therefore of
    questions whose true answer allows the mistake; otherwise a rule that only says which those are would stand out.
    """
    if symptom.level != "question":
        return np.ones(units, dtype=np.bool_)
    return np.array([symptom.what in wrong_kinds(truth) for truth in truths], dtype=np.bool_)


def symptoms(one: Examined) -> list[tuple[Symptom, int, str, str]]:
    """What failed in a picture: the symptom, its unit, what was true, and what was seen or said.

    Kinds of wrong answers count only where nothing is known to be misread: otherwise they may follow from that.
    """
    if one.misread:
        return [symptom_of(misreading) for misreading in one.misread]
    answers = ((mistake.at, one.answers[mistake.at]) for mistake in one.mistakes)
    return [
        (Symptom("question", wrong_words(one.truth, one.said)), at, one.truth, one.said)
        for at, one in answers
    ]


def clear_value(values: Iterable[str]) -> str:
    """The value of at least CLEAR of all, "" if there is none."""
    counts = Counter(values)
    best = max(sorted(counts), key=lambda value: counts[value], default="")
    return best if counts and counts[best] >= CLEAR * counts.total() else ""


def wrong_words(truth: str, said: str) -> str:
    """The kind of a wrong answer."""
    if truth.isdecimal() and said.isdecimal():
        return "too few" if int(said) < int(truth) else "too many"
    if {truth, said} == set(YES_NO):
        return f"{said} for {truth}"
    if truth in YES_NO:
        return NO_WORD
    return NO_NUMBER if truth.isdecimal() else OTHER


def wrong_kinds(truth: str) -> tuple[str, ...]:
    """The kinds of wrong answers to a question with this true answer."""
    if truth in YES_NO:
        said = next(word for word in YES_NO if word != truth)
        return (f"{said} for {truth}", NO_WORD)
    if not truth.isdecimal():
        return (OTHER,)
    few, many = int(truth) > 0, int(truth) < MAX_COUNTED
    return (*(("too few",) if few else ()), *(("too many",) if many else ()), NO_NUMBER)


def symptom_of(one: Misreading) -> tuple[Symptom, int, str, str]:
    """The symptom that a misreading is, its unit, "", and what was seen."""
    if one.index is None:
        return Symptom("scene", one.value), 0, "", one.value
    return Symptom("object", one.kind), one.index, "", one.value
