"""The results of a correction: every tuned model with its accuracies, and paired comparisons of the chosen one."""

from __future__ import annotations

from dataclasses import dataclass

from trex.inference.statistics.paired import Paired
from trex.inference.statistics.proportion import Interval, Proportion
from trex.repair.records import Record

FRESH, GROWN, REAL, TEST = "fresh", "grown", "real", "test"
TESTS = (FRESH, GROWN, REAL, TEST)
CHOOSE, VALIDATION, TRAINING = "choose", "validation", "training"
FIRST_HALF, SECOND_HALF = "first half", "second half"
HALVES = (FIRST_HALF, SECOND_HALF)  # of the test split, which the paper uses as validation and as test
SWEEP, PLAIN, RAW, SINGLE = "sweep", "plain", "raw", "single"
CONTROLS = (PLAIN, RAW, SINGLE)
BEFORE, ZERO = "before", "lambda 0"


class Tuned(Record):
    """A model: its seed, what it was tuned on besides D, the loss's weight, and (right, of) on each set.

    `epoch`: the one whose weights it has, from 1; None of the model before.
    """

    seed: int
    kind: str
    weight: float
    right: dict[str, tuple[int, int]]
    epoch: int | None = None

    def accuracy(self, name: str) -> Proportion:
        """Its share of right answers on a set."""
        return Proportion(*self.right[name])


class Compared(Record):
    """The chosen model of a seed against another on one test: answers right of both, of one alone, of neither.

    `low` and `high` are the 95 % interval of the difference if pictures that come from one picture are a cluster; None
    if all pictures are independent.
    """

    seed: int
    against: str
    test: str
    both: int
    only_chosen: int
    only_other: int
    neither: int
    low: float | None = None
    high: float | None = None

    @property
    def n(self) -> int:
        """The number of pictures."""
        return self._paired.n

    @property
    def difference(self) -> float:
        """The chosen model's share of right answers minus the other's."""
        return self._paired.difference

    @property
    def interval(self) -> Interval:
        """95 % interval of the difference."""
        if self.low is None or self.high is None:
            return self._paired.interval
        return Interval(self.low, self.high)

    @property
    def _paired(self) -> Paired:
        return Paired(self.both, self.only_chosen, self.only_other, self.neither)


class Corrected(Record):
    """A scenario and its label."""

    number: int
    label: str


class CorrectResult(Record):
    """Everything that was tuned. `impure` scenarios were left out; `chosen` has a weight for each seed, or None.

    `epoch_by` names the pictures that have chosen each model's epoch among `epochs`; "" if the last one was taken.
    """

    corrected: list[Corrected]
    impure: list[int]
    before: Tuned | None
    tuned: list[Tuned]
    chosen: list[float | None]
    compared: list[Compared]
    has_singles: bool
    epochs: int = 1
    epoch_by: str = ""

    def of(self, kind: str, weight: float | None = None) -> list[Tuned]:
        """The models of a kind, of every seed; of one weight if it is given."""
        return [one for one in self.tuned if one.kind == kind and weight in (None, one.weight)]

    @property
    def best(self) -> list[Tuned]:
        """The chosen model of each seed that has one."""
        return [one for one in self.tuned if one.kind == SWEEP and self.chosen[one.seed] == one.weight]

    def claims(self) -> list[Claim]:
        """What the comparisons support, in every seed: chosen against each other model, test by test."""
        found = []
        for against in dict.fromkeys(one.against for one in self.compared):
            for test in TESTS:
                pairs = [one for one in self.compared if (one.against, one.test) == (against, test)]
                found.append(Claim(against, test, tuple(pairs), len(self.chosen)))
        return found

    @property
    def is_mended(self) -> bool:
        """Whether every seed's chosen model is better than the model before and than every control on fresh draws and
        on grown mistakes, with intervals clear of 0, and not clearly worse than weight 0 on the test split.
        """
        wanted = [one for one in self.claims() if one.test in (FRESH, GROWN)]
        worse = [one for one in self.claims() if (one.against, one.test) == (ZERO, TEST) and one.is_worse]
        return bool(wanted) and all(one.is_better for one in wanted) and not worse


@dataclass(frozen=True)
class Claim:
    """The chosen models against another on one test: a paired comparison for each seed that chose, of `seeds`."""

    against: str
    test: str
    pairs: tuple[Compared, ...]
    seeds: int

    @property
    def is_better(self) -> bool:
        """Whether every seed chose a weight, and the 95 % interval of every difference lies above 0."""
        return len(self.pairs) == self.seeds and self.is_better_where_chosen

    @property
    def is_better_where_chosen(self) -> bool:
        """Whether the interval of every difference lies above 0, for the seeds that chose a weight."""
        return bool(self.pairs) and all(one.interval.low > 0 for one in self.pairs)

    @property
    def is_worse(self) -> bool:
        """Whether the interval of any seed's difference lies below 0."""
        return any(one.interval.high < 0 for one in self.pairs)

    @property
    def difference(self) -> tuple[float, float, float]:
        """Mean, least and greatest difference of the seeds."""
        values = [one.difference for one in self.pairs]
        return sum(values) / len(values), min(values), max(values)
