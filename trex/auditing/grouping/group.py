"""Step 2: families of confident mistakes, each what was misread and a rule that says when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from trex.auditing.grouping.question_conditions import question_conditions, question_rows
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Answer, Examined
from trex.inference.subgroups.rules import Bools, Rule, find_rules
from trex.scenes.conditions import (
    Asked,
    Condition,
    Facts,
    Level,
    object_conditions,
    object_rows,
    scene_conditions,
    scene_row,
)
from trex.scenes.misreading import ATTRIBUTE_KINDS, MIRRORS, Misreading
from trex.scenes.vocabulary import Vocabulary

LEAST_EVENTS = 5  # misreadings that a family is made of
OTHER = "another value"
WRONG = ("too few", "too many", "no for yes", "yes for no", OTHER)
SYMPTOMS = ("missed", "doubled", *ATTRIBUTE_KINDS, *MIRRORS, *WRONG)


@dataclass(frozen=True)
class Symptom:
    """How a model fails: an object misread in one way, directions mirrored, or a kind of wrong answer."""

    level: Level
    what: str


@dataclass(frozen=True)
class Family:
    """A symptom and the conditions under which it occurs; `cases` and `events` of the sweep, `became` what was said.

    `became` counts, for a misread attribute, (what it was, what it was taken for), and for a kind of wrong answer
    (the truth, the answer).
    """

    symptom: Symptom
    conditions: tuple[Condition, ...]
    cases: int
    events: int
    became: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Rules:
    """All conditions of each level, for one vocabulary."""

    vocabulary: Vocabulary

    def conditions(self, level: Level) -> tuple[Condition, ...]:
        """The columns of `rows`."""
        if level == "object":
            return (*object_conditions(self.vocabulary), *scene_conditions())
        return (
            scene_conditions()
            if level == "scene"
            else (*question_conditions(self.vocabulary), *scene_conditions())
        )

    def rows(self, level: Level, facts: Facts, asked: Sequence[Asked]) -> Bools:
        """(units, conditions) of one scene; its units are its objects, itself, or the questions asked."""
        if level == "object":
            return object_rows(facts, (*object_conditions(self.vocabulary), *scene_conditions()))
        if level == "scene":
            return scene_row(facts, scene_conditions())
        return question_rows(facts, asked, (*question_conditions(self.vocabulary), *scene_conditions()))

    def holds(self, family: Family, facts: Facts, asked: Sequence[Asked]) -> Bools:
        """(units,): for which units of a scene the family's conditions all hold."""
        return self.of_family(family, self.rows(family.symptom.level, facts, asked))

    def of_family(self, family: Family, table: Bools) -> Bools:
        """(units,): the rows of a table of the family's level in which its conditions all hold."""
        keys = [one.key for one in self.conditions(family.symptom.level)]
        columns = [keys.index(one.key) for one in family.conditions]
        found: Bools = table[:, columns].all(axis=1)
        return found


def symptoms(one: Examined) -> list[tuple[Symptom, int, str, str]]:
    """What failed in a picture: the symptom, its unit, what was true, and what was seen or said.

    Kinds of wrong answers count only where nothing is known to be misread: otherwise they may follow from that.
    """
    if one.misread:
        return [_of_misreading(misreading) for misreading in one.misread]
    answers = ((mistake.at, one.answers[mistake.at]) for mistake in one.mistakes)
    return [(Symptom("question", wrong_words(said)), at, said.truth, said.said) for at, said in answers]


def group(examined: Sequence[Examined], facts: Sequence[Facts], asker: Asker) -> list[Family]:
    """The families of a sweep, those with the most events first; a function of the sweep alone."""
    rules = Rules(asker.vocabulary)
    failed = [symptoms(one) for one in examined]
    families: list[Family] = []
    for level in ("object", "scene", "question"):
        kinds = sorted({row[0].what for found in failed for row in found if row[0].level == level})
        if not kinds:
            continue
        rows = [
            rules.rows(level, one, asker.asked(one.scene, each.scene) if level == "question" else ())
            for one, each in zip(facts, examined, strict=True)
        ]
        starts = np.cumsum([0, *(len(one) for one in rows)])
        table = np.concatenate(rows)
        for what in kinds:
            units = [
                (int(starts[k]) + unit, facts[k].scene.objects, unit, truth, said)
                for k, found in enumerate(failed)
                for symptom, unit, truth, said in found
                if symptom == Symptom(level, what)
            ]
            events = np.zeros(len(table), dtype=np.bool_)
            events[[row for row, *_ in units]] = True
            became = {
                row: (getattr(objects[unit], what, truth) if level == "object" else truth, said)
                for row, objects, unit, truth, said in units
            }
            families += _families(Symptom(level, what), rules.conditions(level), table, events, became)
    return sorted(families, key=lambda family: (-family.events, family.symptom.what))


def wrong_words(answer: Answer) -> str:
    """The kind of a wrong answer."""
    if answer.truth.isdecimal() and answer.said.isdecimal():
        return "too few" if int(answer.said) < int(answer.truth) else "too many"
    if {answer.truth, answer.said} == {"yes", "no"}:
        return f"{answer.said} for {answer.truth}"
    return OTHER


def _families(
    symptom: Symptom,
    conditions: Sequence[Condition],
    table: Bools,
    events: Bools,
    became: dict[int, tuple[str, str]],
) -> list[Family]:
    found, left = [], np.ones(len(table), dtype=np.bool_)
    for rule in find_rules(table, events, least_events=LEAST_EVENTS):
        inside = left & table[:, list(rule.conditions)].all(axis=1)
        left &= ~inside
        found.append(
            _family(symptom, conditions, rule, [became[int(k)] for k in np.flatnonzero(inside & events)])
        )
    return found


def _family(
    symptom: Symptom, conditions: Sequence[Condition], rule: Rule, became: Iterable[tuple[str, str]]
) -> Family:
    counts = Counter(became)
    ordered = sorted(((*pair, n) for pair, n in counts.items()), key=lambda row: (-row[2], row))
    chosen = tuple(conditions[c] for c in rule.conditions)
    return Family(symptom, chosen, rule.cases, rule.events, tuple(ordered))


def _of_misreading(one: Misreading) -> tuple[Symptom, int, str, str]:
    if one.index is None:
        return Symptom("scene", one.value), 0, "", one.value
    return Symptom("object", one.kind), one.index, "", one.value
