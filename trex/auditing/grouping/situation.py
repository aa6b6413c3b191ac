"""A scene, what a model said of it, and for which of its units the conditions of families hold."""

from __future__ import annotations

from collections.abc import Sequence

from trex.auditing.grouping.family import Family, Rules, Symptom, can_fail, symptoms
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Examined
from trex.inference.subgroups.rules import Bools
from trex.scenes.conditions import Facts, Level


class Situation:
    """One scene for any number of families: its tables of conditions are made once, when they are first needed."""

    def __init__(self, facts: Facts, one: Examined, asker: Asker, rules: Rules | None = None) -> None:
        self.facts, self.one, self.symptoms = facts, one, symptoms(one)
        self._asker, self._rules = asker, rules or Rules(asker.vocabulary)
        self._tables: dict[Level, Bools] = {}

    def table(self, level: Level) -> Bools:
        """(units, conditions): which conditions of a level hold for the scene's units, 7 kB for 50 questions."""
        if level not in self._tables:
            asked = self._asker.asked(self.facts.scene, self.one.scene) if level == "question" else []
            self._tables[level] = self._rules.rows(level, self.facts, asked)
        return self._tables[level]

    def can_fail(self, symptom: Symptom) -> Bools:
        """(units,): which units can show a symptom."""
        truths = [answer.truth for answer in self.one.answers]
        return can_fail(symptom, len(self.table(symptom.level)), truths)

    def everywhere(self, family: Family) -> set[int]:
        """The units that fail as the family says, whether its conditions hold or not."""
        return {unit for symptom, unit, _, said in self.symptoms if family.covers(symptom, said)}

    def taken_for(self, family: Family) -> list[str]:
        """What each unit that fails in the family's way under its conditions was taken for, whatever that is."""
        failed, *_ = self.failing(wider := family.wider)
        return [
            said for symptom, unit, _, said in self.symptoms if wider.covers(symptom, said) and unit in failed
        ]

    def failing(self, family: Family) -> tuple[list[int], int, int]:
        """The units that fail under the family's conditions; of the units that can, how many meet these, and all."""
        can = self.can_fail(family.symptom)
        holds = self._rules.of_family(family, self.table(family.symptom.level)) & can
        failed = sorted(unit for unit in self.everywhere(family) if holds[unit])
        return failed, int(holds.sum()), int(can.sum())


def situations(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> list[Situation]:
    """The situations of scenes."""
    rules = Rules(asker.vocabulary)
    return [Situation(facts, one, asker, rules) for facts, one in rows]
