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
        rows = [one.table(level) for one in scenes]
        starts = np.cumsum([0, *(len(one) for one in rows)])
        table = np.concatenate(rows)
        for what in kinds:
            units = [
                (int(starts[k]) + unit, one.facts.scene.objects, unit, truth, said)
                for k, one in enumerate(scenes)
                for symptom, unit, truth, said in one.symptoms
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
