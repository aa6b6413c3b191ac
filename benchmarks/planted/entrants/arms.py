"""Conjunctions of conditions on one object and its scene as arms: which free draws meet them, and what they showed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.claims import Claim, anywhere, claim_of
from benchmarks.planted.entrants.looking import look
from benchmarks.planted.referee import Referee
from benchmarks.planted.score import PRECISE
from benchmarks.planted.world import OF_OBJECT, OF_SCENE, Known, Table
from trex.families.pattern import Pattern
from trex.inference.statistics.proportion import clopper_pearson
from trex.scenes.conditions import Bools

CONDITIONS = (*OF_OBJECT, *OF_SCENE)
Arm = tuple[int, ...]  # places of conditions, ascending
FREE = 8  # draws for each render of the budget
MOST_FREE = 8000
SURE = 0.5  # share of failing scenes that the lower end of an arm's interval must reach to be claimed


@dataclass
class Arms:
    """The draws and what has been rendered; each draw is rendered once at most."""

    referee: Referee
    known: list[Known]
    table: Table
    rows: Bools  # (objects, conditions)
    failed: dict[int, bool] = field(default_factory=dict)
    _members: dict[Arm, NDArray[np.int64]] = field(default_factory=dict)

    def members(self, arm: Arm) -> NDArray[np.int64]:
        """The draws with an object that meets all conditions."""
        if arm not in self._members:
            met = self.rows[:, list(arm)].all(axis=1)
            self._members[arm] = np.flatnonzero(anywhere(met, self.table.object_of, len(self.table)))
        return self._members[arm]

    def pull(self, arm: Arm) -> bool | None:
        """Render a draw that meets the conditions; whether the target failed; None if there is none left."""
        at = next((int(k) for k in self.members(arm) if int(k) not in self.failed), None)
        if at is None:
            return None
        self.failed[at] = look(self.referee, self.known[at]).failed
        return self.failed[at]

    def seen(self, arm: Arm) -> tuple[int, int]:
        """The failing ones of the rendered draws that meet the conditions, and all of these."""
        mine = [self.failed[int(k)] for k in self.members(arm) if int(k) in self.failed]
        return sum(mine), len(mine)

    @property
    def base(self) -> float:
        """The share of rendered draws that failed."""
        return sum(self.failed.values()) / max(1, len(self.failed))


def arms_of(referee: Referee) -> Arms:
    """The first draws of the prior, FREE for each render of the budget."""
    known, table = referee.drawn(min(MOST_FREE, FREE * referee.budget))
    return Arms(referee, known, table, np.concatenate([table.objects, table.scenes[table.object_of]], axis=1))


def claimed(arms: Arms, candidates: list[Arm], most: int = 8) -> tuple[Claim, ...]:
    """The arms that fail surely, none that another one's failures explain.

    Those that seem as precise as the score asks come first, as more renders make broader ones sure, too; then those
    with more failures.
    """
    sure = []
    for arm in candidates:
        hits, n = arms.seen(arm)
        low = clopper_pearson(hits, n, 0.99).low if n else 0.0
        if low >= SURE and hits / n > 1.5 * arms.base:
            sure.append((hits / n < PRECISE, -hits, len(arm), arm))
    left = {at for at, failed in arms.failed.items() if failed}
    found = list[Claim]()
    for *_, arm in sorted(sure):
        mine = left & {int(k) for k in arms.members(arm)}
        if len(mine) >= 3 and len(found) < most:
            left -= mine
            conditions = [CONDITIONS[k] for k in arm]
            found.append(claim_of(conditions, Pattern.of(conditions).words))
    return tuple(found)
