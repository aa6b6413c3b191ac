"""Rules that say too little: further random scenes that meet their conditions show what else a failure needs.

Where a fault is rare, few of the scenes that made a rule meet its conditions, and these few may not show another one
that matters: "a purple object that overlaps another is read as red" holds in a tenth of such scenes, if the failure
needs bright light as well. Of the scenes that meet the conditions a far larger share fails than of all, so that a few
more may tell what those that fail have in common. What they add is stated as a family, and judged by other scenes as
any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.families.discover import LEAST_EVENTS, Situation, conditions_of, stated
from trex.families.family import Family
from trex.families.rules import find_rules
from trex.scenes.conditions import Bools
from trex.scenes.vocabulary import Vocabulary

MORE = 40  # random scenes that meet a rule's conditions, which are examined to narrow it
ENOUGH = 250  # examined scenes that meet them, from which on no further ones are
MOSTLY = 0.8  # share of the units under a rule's conditions that fail, from which on it says enough
MOST_CONDITIONS = 5  # of a narrowed rule
HELD = 0.8  # share of a family's failures that a narrower one must hold to take its place


def is_wide(family: Family, scenes: Sequence[Situation], enough: int = ENOUGH) -> bool:
    """Whether a family's conditions hold in few of these scenes, in which most units under them do not fail."""
    met = [(failed, n) for failed, n, _ in (scene.failing(family) for scene in scenes) if n]
    failing, units = sum(len(failed) for failed, _ in met), sum(n for _, n in met)
    return (
        0 < len(met) < enough
        and len(family.pattern.conditions) < MOST_CONDITIONS
        and failing < MOSTLY * units
    )


def narrower(family: Family, scenes: Sequence[Situation], vocabulary: Vocabulary) -> Family | None:
    """The family with the further conditions that single out its failures, among the units that meet its own.

    Of its own conditions those are left out that follow from the others in all of these scenes. None if no further
    condition matters. Each scene counts once, however many of its units meet the conditions: if they fail together,
    many units show no more than one.
    """
    level, own = family.symptom.level, family.pattern.conditions
    every = conditions_of(vocabulary)[level]
    holds = [scene.holds(family) for scene in scenes]
    fails = [
        np.isin(np.arange(len(mine)), scene.failing(family)[0])
        for scene, mine in zip(scenes, holds, strict=True)
    ]
    tables = [scene.table(level) for scene in scenes]
    inside, events = np.concatenate(holds), np.concatenate(fails)
    table = np.concatenate(tables)
    weights = np.concatenate([mine / max(1, mine.sum()) for mine in holds])
    rules = find_rules(
        table[inside],
        events[inside],
        most_conditions=MOST_CONDITIONS - len(own),
        most_rules=1,
        least_events=LEAST_EVENTS,
        weights=weights[inside],
    )
    if not rules:
        return None
    keys = [condition.key for condition in every]
    named = [keys.index(condition.key) for condition in own] + list(rules[0].conditions)
    could = np.concatenate([scene.can_show(family.symptom, family.value) for scene in scenes])
    columns = _without_implied(table[could], named)
    failures = [
        (scene, failure)
        for scene, mine, rows in zip(scenes, fails, tables, strict=True)
        for failure in scene.failures
        if family.covers(failure.symptom, failure.value)
        and mine[failure.unit]
        and rows[failure.unit, columns].all()
    ]
    return stated(family.symptom, every, columns, failures)


def _without_implied(table: Bools, columns: Sequence[int]) -> list[int]:
    """The columns without those that hold wherever the others do, the first ones left out first."""
    left = list(columns)
    for column in columns:
        others = [c for c in left if c != column]
        if others and (table[:, column] | ~table[:, others].all(axis=1)).all():
            left = others
    return left


def holds_most(narrow: Family, wide: Family, scenes: Sequence[Situation]) -> bool:
    """Whether one family holds at least HELD of the failures of another in these scenes."""
    failed = [(set(scene.failing(wide)[0]), set(scene.failing(narrow)[0])) for scene in scenes]
    return sum(len(mine & other) for mine, other in failed) >= HELD * sum(len(mine) for mine, _ in failed)
