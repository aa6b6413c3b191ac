"""Step 2: families of confident mistakes, each what was misread and a rule that says when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from trex.auditing.grouping.family import Family, Rules, Symptom
from trex.auditing.grouping.situation import Situation
from trex.inference.subgroups.rules import Bools, Rule, find_rules
from trex.scenes.conditions import Condition, Level
from trex.scenes.vocabulary import Vocabulary

LEAST_EVENTS = 5  # misreadings that a family is made of
LEVELS: tuple[Level, ...] = ("object", "scene", "question")


def group(scenes: Sequence[Situation], vocabulary: Vocabulary) -> list[Family]:
    """The families of a sweep, those with the most events first; a function of the sweep alone."""
    rules = Rules(vocabulary)
    families: list[Family] = []
    for level in LEVELS:
        kinds = sorted({row[0].what for one in scenes for row in one.symptoms if row[0].level == level})
        if not kinds:
            continue
        for what in kinds:
            families += _of_symptom(Symptom(level, what), rules.conditions(level), scenes)
    return sorted(families, key=lambda family: (-family.events, family.symptom.what))


def _of_symptom(
    symptom: Symptom, conditions: Sequence[Condition], scenes: Sequence[Situation]
) -> list[Family]:
    """The rules for a symptom, among the units that can show it."""
    can = [one.can_fail(symptom) for one in scenes]
    table = np.concatenate([one.table(symptom.level)[mine] for one, mine in zip(scenes, can, strict=True)])
    starts = np.cumsum([0, *(int(mine.sum()) for mine in can)])
    became = {
        int(starts[k] + can[k][:unit].sum()): (_was(symptom, one, unit, truth), said)
        for k, one in enumerate(scenes)
        for shown, unit, truth, said in one.symptoms
        if shown == symptom
    }
    events = np.zeros(len(table), dtype=np.bool_)
    events[list(became)] = True
    return _families(symptom, conditions, table, events, became)


def _was(symptom: Symptom, one: Situation, unit: int, truth: str) -> str:
    """What a unit is in truth: the value of an object's misread attribute, or the true answer."""
    if symptom.level != "object":
        return truth
    value: str = getattr(one.facts.scene.objects[unit], symptom.what, truth)
    return value


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
