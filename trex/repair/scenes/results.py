"""The results of a correction on scenes: every tuned model, and comparisons of the chosen ones, scene by scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.statistics.clustered import paired_difference
from trex.repair.arrays import Flags
from trex.repair.correction.results import BEFORE, Tuned
from trex.repair.records import Record

FRESH, GROWN, DECIDING, ANSWERS = "fresh", "grown", "deciding", "answers"
TESTS = (FRESH, GROWN, DECIDING, ANSWERS)
CHOOSE, CHECKED = "choose", "checked"  # scenes that choose lambda; answers that bound its cost
SWEEP, ORDINARY, RAW = "sweep", "ordinary", "raw"
CONTROLS = (ORDINARY, RAW)
CLAIMED = (FRESH, GROWN, DECIDING)
MAX_LOST = 0.003  # of the answers about ordinary scenes


def scenario_test(name: str, number: int) -> str:
    """The name of a test on one scenario alone."""
    return f"{name} {number}"


class SceneCompared(Record):
    """The chosen model of a seed against another on n objects or answers of one test: how many each has right.

    `low` and `high` are the 95 % interval of the difference of the shares, which takes what comes from one prior scene
    as a cluster; it is at least as wide as that of Bonett and Price, which takes all as independent.
    """

    seed: int
    against: str
    test: str
    n: int
    clusters: int
    right: int
    other_right: int
    low: float
    high: float

    @property
    def difference(self) -> float:
        """The chosen model's share of right ones minus the other's."""
        return (self.right - self.other_right) / self.n if self.n else 0.0

    @property
    def is_halved(self) -> bool:
        """Whether the chosen model has at most half as many wrong."""
        return 2 * (self.n - self.right) <= self.n - self.other_right


def compared(
    seed: int, against: str, test: str, flags: tuple[Flags, Flags], clusters: Sequence[int]
) -> SceneCompared:
    """The comparison of what the chosen model and the other have right (n,), with the cluster of each."""
    first, second = flags
    interval = paired_difference(first, second, clusters)
    return SceneCompared(
        seed=seed,
        against=against,
        test=test,
        n=len(first),
        clusters=len(np.unique(np.asarray(clusters))),
        right=int(first.sum()),
        other_right=int(second.sum()),
        low=interval.low,
        high=interval.high,
    )


@dataclass(frozen=True)
class SceneClaim:
    """The chosen models against another on one test: a comparison for each seed that chose, of `seeds`."""

    against: str
    test: str
    rows: tuple[SceneCompared, ...]
    seeds: int

    @property
    def is_better(self) -> bool:
        """Whether every seed chose a weight, and the interval of every difference lies above 0."""
        return len(self.rows) == self.seeds and all(one.low > 0 for one in self.rows)

    @property
    def is_worse(self) -> bool:
        """Whether the interval of any seed's difference lies below 0."""
        return any(one.high < 0 for one in self.rows)


class SceneCorrectResult(Record):
    """Everything that was tuned; `chosen` has a weight for each seed, or None.

    `corrected`: the numbers of the scenarios, those that are misread most often first.
    """

    corrected: list[int]
    before: Tuned | None
    tuned: list[Tuned]
    chosen: list[float | None]
    compared: list[SceneCompared]

    @property
    def best(self) -> list[Tuned]:
        """The chosen model of each seed that has one."""
        return [one for one in self.tuned if one.kind == SWEEP and self.chosen[one.seed] == one.weight]

    def of(self, kind: str, weight: float | None = None) -> list[Tuned]:
        """The models of a kind, of every seed; of one weight if it is given."""
        return [one for one in self.tuned if one.kind == kind and weight in (None, one.weight)]

    def claim(self, against: str, test: str) -> SceneClaim:
        """The chosen model of each seed against another on one test."""
        rows = [one for one in self.compared if (one.against, one.test) == (against, test)]
        return SceneClaim(against, test, tuple(rows), len(self.chosen))

    @property
    def others(self) -> list[str]:
        """What the chosen models are compared with."""
        return list(dict.fromkeys(one.against for one in self.compared))

    def halved(self) -> list[int]:
        """The scenarios of which, in every seed, at most half as many are misread at the deciding look as before, with
        intervals of the difference clear of 0.
        """
        claims = {k: self.claim(BEFORE, scenario_test(DECIDING, k)) for k in self.corrected}
        return [
            k for k, claim in claims.items() if claim.is_better and all(one.is_halved for one in claim.rows)
        ]

    @property
    def lost(self) -> list[float]:
        """The share of answers about ordinary scenes that each chosen model loses against the model before."""
        return [-one.difference for one in self.claim(BEFORE, ANSWERS).rows]

    @property
    def is_mended(self) -> bool:
        """Whether in every seed the chosen model misreads fewer objects than the model before and than every control on
        fresh scenes, on held-out mistakes and at the deciding look, each interval clear of 0, and loses at most
        MAX_LOST of the answers about ordinary scenes.
        """
        claims = [self.claim(against, test) for against in self.others for test in CLAIMED]
        return bool(claims) and all(one.is_better for one in claims) and max(self.lost) <= MAX_LOST
