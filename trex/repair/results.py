"""What clustering and correction find: components, every tuned model, and paired comparisons of the chosen ones.

Records of earlier versions, which had one form for each domain, are read too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from pydantic import model_validator

from trex.families.symptom import seen_words
from trex.foundation.words import capitalized, counted, percent, signed_points
from trex.inference.statistics.clustered import paired_difference
from trex.inference.statistics.paired import Paired, paired
from trex.inference.statistics.proportion import Proportion
from trex.repair.files import Flags, Found, Record

FRESH, GROWN, CHOOSE = "fresh", "grown", "choose"  # of both domains
REAL, TEST, VALIDATION, TRAINING = "real", "test", "validation", "training"  # of pictures
DECIDING, ANSWERS, CHECKED = "deciding", "answers", "checked"  # of scenes
FIRST_HALF, SECOND_HALF = "first half", "second half"  # of the test split: the paper's validation and test
SWEEP, BEFORE, ZERO = "sweep", "before", "lambda 0"
LEAST_CLUSTERS = 6  # all of these move one way by chance in 1 of 32 cases, fewer in more than 5%
PLAIN, RAW, SINGLE, ORDINARY = "plain", "raw", "single", "ordinary"


class Rules(NamedTuple):
    """What a domain claims of a correction: its tests, those that must gain, and the test that must not lose.

    `cost`: against which model, and on which test. Without `most_lost`, an interval below 0 is too much; with it, a
    greater lost share of any seed is.
    """

    tests: tuple[str, ...]
    claimed: tuple[str, ...]
    cost: tuple[str, str]
    most_lost: float | None
    kept: str  # what a weight must keep to be chosen
    names: Mapping[str, str]


RULES = {
    "decoders": Rules(
        tests=(FRESH, GROWN, REAL, TEST),
        claimed=(FRESH, GROWN),
        cost=(ZERO, TEST),
        most_lost=None,
        kept="the accuracy on validation pictures",
        names={
            BEFORE: "before",
            ZERO: "lambda 0: the same steps without scenarios",
            PLAIN: "decodings without noise",
            RAW: "raw mistakes, labelled as their seeds",
            SINGLE: "mistakes labelled one by one",
            FRESH: "fresh draws",
            GROWN: "grown from test pictures",
            REAL: "real pictures inside",
            TEST: "test split",
            VALIDATION: "validation",
        },
    ),
    "scenes": Rules(
        tests=(FRESH, GROWN, DECIDING, ANSWERS),
        claimed=(FRESH, GROWN, DECIDING),
        cost=(BEFORE, ANSWERS),
        most_lost=0.003,
        kept="the answers about ordinary scenes",
        names={
            BEFORE: "before",
            ZERO: "lambda 0",
            ORDINARY: "new ordinary scenes",
            RAW: "mistakes without clusters",
            FRESH: "fresh scenes",
            GROWN: "held-out mistakes",
            DECIDING: "deciding preset",
            ANSWERS: "answers",
        },
    ),
}


class Component(Record):
    """A group of mistakes: its number, its share of the weight, and how many mistakes belong to it.

    Of pictures a component of the mixture: the commonest `pairs` of label and answer with their counts, and how many
    are wrong without noise. Of scenes a family: its conditions (their keys), its symptom and its sentence, what its
    objects are most often taken for, with counts, and the number of prior scenes that the members come from.
    """

    number: int
    weight: float
    members: int
    pairs: list[tuple[str, str, int]] | None = None
    plain_wrong: int | None = None
    kinds: list[tuple[str, int]] | None = None
    origins: int | None = None
    sentence: str = ""
    symptom: str = ""
    conditions: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The kinds of mistakes: "8 → 3 (12), 9 → 4 (2)"."""
        pairs = [f"{label} → {answer} ({count})" for label, answer, count in self.pairs or ()]
        return ", ".join(
            [
                *pairs,
                *(f"{seen_words(*word.split(maxsplit=1))} ({count})" for word, count in self.kinds or ()),
            ]
        )


class DistillResult(Found):
    """The components; of pictures also how stable they are: `near` the cut-off, and as a second seed finds them.

    `kept_weight`: of the mixture, the weight of these components; of families, the share of mistakes in any.
    """

    mistakes: int
    classes: tuple[str, ...] = ()  # of pictures: the names of the model's classes, in its order
    components: list[Component]
    kept_weight: float
    near: int = 0
    converged: bool = True
    iterations: int = 0
    bound: float = 0.0
    second_kept: int = 0
    rand_index: float | None = None  # of scenes None: families do not depend on a seed

    @property
    def lines(self) -> list[str]:
        rows = [
            f"{each.number:>9}  {each.weight:6.3f}  {each.members:>8,}  "
            + (f"{each.sentence}: {each.words}" if each.sentence else each.words)
            for each in self.components
        ]
        return ["    group  weight  mistakes  what", *rows]

    @property
    def sentences(self) -> list[str]:
        if self.rand_index is None:
            found = sum(each.members for each in self.components)
            families = counted(len(self.components), "family", "families")
            verb = "holds" if len(self.components) == 1 else "hold"
            return [
                f"{families} {verb} {found:,} of {counted(self.mistakes, 'mistake')} ({percent(self.kept_weight)}): "
                "objects that fit few conditions, under which the model misreads more of them than chance explains."
            ]
        return [
            f"{counted(len(self.components), 'group')} of {self.mistakes:,} mistakes, with "
            f"{percent(self.kept_weight)} of the mixture's weight; {self.near} lie within a fifth of the least weight "
            f"that counts. A second seed finds {self.second_kept}; the two agree to {self.rand_index:.2f} (adjusted "
            "Rand index: 1 is the same, 0 is chance)"
            + ("." if self.converged else "; the fit has not converged.")
        ]


class Tuned(Record):
    """A model: its seed, what it was tuned on besides D, the loss's weight, and (right, of) on each set.

    `epoch`: the one whose weights it has, from 1, if one was chosen.
    """

    seed: int
    kind: str
    weight: float
    right: dict[str, tuple[int, int]]
    epoch: int | None = None

    def accuracy(self, name: str) -> Proportion:
        return Proportion(*self.right[name])


class Compared(Record):
    """The chosen model of a seed against another on n pictures, objects or answers of a test: how many each has right.

    `low` and `high` are the 95% interval of the difference of the shares. What comes from one picture or prior scene
    is a cluster: it is at least as wide as that of Bonett and Price (2012), which takes all as independent.
    """

    seed: int
    against: str
    test: str
    n: int
    right: int
    other_right: int
    low: float
    high: float
    clusters: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _earlier(cls, given: object) -> object:
        """As it was of pictures: a table of four counts, with an interval only if there are clusters."""
        if not isinstance(given, dict) or "both" not in given:
            return given
        names = ("both", "only_chosen", "only_other", "neither")
        pair = Paired(*(int(given[name]) for name in names))
        remaining = {key: value for key, value in given.items() if key not in names and value is not None}
        low, high = pair.interval
        counts = {
            "n": pair.n,
            "right": pair.both + pair.only_first,
            "other_right": pair.both + pair.only_second,
        }
        return {"low": low, "high": high, **remaining, **counts}

    @property
    def difference(self) -> float:
        """The chosen model's share of right ones minus the other's."""
        return (self.right - self.other_right) / self.n if self.n else 0.0

    @property
    def sign(self) -> int:
        """1 if the whole interval lies above 0, -1 if below, else 0; 0 with fewer than LEAST_CLUSTERS clusters.

        Five clusters that all move the same way do so in 1 of 16 cases by chance alone, whatever their spread says.
        """
        if self.clusters is not None and self.clusters < LEAST_CLUSTERS:
            return 0
        return int(self.low > 0) - int(self.high < 0)

    @property
    def is_halved(self) -> bool:
        """Whether the chosen model has at most half as many wrong."""
        return 2 * (self.n - self.right) <= self.n - self.other_right


def compared(
    seed: int, against: str, test: str, flags: tuple[Flags, Flags], clusters: Sequence[int] | None
) -> Compared:
    """The comparison of what the chosen model and the other have right (n,), with the cluster of each, if any."""
    first, second = flags
    if clusters is None:
        interval = paired(first.tolist(), second.tolist()).interval
    else:
        interval = paired_difference(first, second, clusters)
    return Compared(
        seed=seed,
        against=against,
        test=test,
        n=len(first),
        right=int(first.sum()),
        other_right=int(second.sum()),
        low=interval.low,
        high=interval.high,
        clusters=None if clusters is None else len(np.unique(np.asarray(clusters))),
    )


@dataclass(frozen=True)
class Claim:
    """The chosen models against another on one test: a comparison for each seed that chose, of `seeds`."""

    against: str
    test: str
    rows: tuple[Compared, ...]
    seeds: int

    @property
    def is_better(self) -> bool:
        """Whether every seed chose a weight, and the interval of every difference lies above 0."""
        return len(self.rows) == self.seeds and self.is_better_where_chosen

    @property
    def is_better_where_chosen(self) -> bool:
        """Whether the interval of every difference lies above 0, for the seeds that chose a weight."""
        return bool(self.rows) and all(each.sign > 0 for each in self.rows)

    @property
    def is_worse(self) -> bool:
        """Whether the interval of any seed's difference lies below 0."""
        return any(each.sign < 0 for each in self.rows)

    @property
    def difference(self) -> str:
        """The mean difference and its range over the seeds, in percentage points: "+15.0 points, +10.0 to +20.0"."""
        values = [each.difference for each in self.rows]
        if not values:
            return "–"
        mean, low, high = map(signed_points, (sum(values) / len(values), min(values), max(values)))
        return f"{mean} points, {low} to {high}"

    @property
    def verdict(self) -> str:
        """What the comparisons support, for the page."""
        if self.is_better:
            return "better in every seed"
        return "worse in a seed" if self.is_worse else "no clear difference"


class Scenario(Record):
    """A scenario that is corrected, and its label; "" if the truth of each picture is known."""

    number: int
    label: str = ""


class CorrectResult(Found):
    """Everything that was tuned. `impure` scenarios were left out; `chosen` has a weight for each seed, or None.

    `epoch_by` names the pictures that have chosen each model's epoch among `epochs`; "" if the last one was taken.
    `has_singles`: whether mistakes were labelled one by one, for a control.
    """

    domain: Literal["decoders", "scenes"] = "decoders"
    corrected: list[Scenario]
    impure: tuple[int, ...] = ()
    before: Tuned | None
    tuned: list[Tuned]
    chosen: list[float | None]
    compared: list[Compared]
    has_singles: bool = False
    epochs: int = 1
    epoch_by: str = ""

    @property
    def rules(self) -> Rules:
        return RULES[self.domain]

    def of(self, kind: str, weight: float | None = None) -> list[Tuned]:
        """The models of a kind, of every seed; of one weight if it is given."""
        return [each for each in self.tuned if each.kind == kind and weight in (None, each.weight)]

    @property
    def best(self) -> list[Tuned]:
        """The chosen model of each seed that has one."""
        return [each for each in self.tuned if each.kind == SWEEP and self.chosen[each.seed] == each.weight]

    @property
    def others(self) -> list[str]:
        return list(dict.fromkeys(each.against for each in self.compared))

    def claim(self, against: str, test: str) -> Claim:
        """The chosen model of each seed against another on one test; tests without pictures show nothing."""
        rows = [each for each in self.compared if (each.against, each.test) == (against, test) and each.n]
        return Claim(against, test, tuple(rows), len(self.chosen))

    def claims(self, tests: Sequence[str] = ()) -> list[Claim]:
        """The chosen models against each other one, test by test; of all tests that are reported, or of these."""
        return [self.claim(against, test) for against in self.others for test in tests or self.rules.tests]

    @property
    def lost(self) -> list[float]:
        """The share of the test that must not lose that each chosen model loses."""
        return [-each.difference for each in self.claim(*self.rules.cost).rows]

    @property
    def is_costly(self) -> bool:
        """Whether too much is lost, in any seed."""
        if self.rules.most_lost is None:
            return self.claim(*self.rules.cost).is_worse
        return max(self.lost, default=math.inf) > self.rules.most_lost

    @property
    def is_repaired(self) -> bool:
        """Whether in every seed the chosen model is better than the model before and than every control on all claimed
        tests, with intervals clear of 0, and does not lose too much.
        """
        wanted = self.claims(self.rules.claimed)
        return bool(wanted) and all(each.is_better for each in wanted) and not self.is_costly

    def halved(self) -> list[int]:
        """The scenarios of which, in every seed, at most half as many are misread at the deciding preset as before, and
        as by lambda 0, with intervals of both differences clear of 0.

        The scenes were chosen because the model before misreads them: any other model misreads fewer. Lambda 0 is
        trained alike and has chosen none.
        """
        return [
            scenario.number
            for scenario in self.corrected
            if all(
                claim.is_better and all(each.is_halved for each in claim.rows)
                for claim in (
                    self.claim(model, scenario_test(DECIDING, scenario.number)) for model in (BEFORE, ZERO)
                )
            )
        ]

    def rows(self) -> list[tuple[str, list[Tuned]]]:
        """The rows of the table: the model before, every weight of the sweep, the chosen ones, and the controls."""
        if self.before is None:
            return []
        names, found = self.rules.names, [(self.rules.names[BEFORE], [self.before])]
        for weight in sorted({each.weight for each in self.of(SWEEP)}):
            name = names[ZERO] if weight == 0 else f"scenarios, lambda {weight:g}"
            found.append((name, self.of(SWEEP, weight)))
        found += [("scenarios, lambda chosen by each seed", self.best)] if self.best else []
        return found + [(names[kind], self.of(kind)) for kind in names if self.of(kind)]

    @property
    def columns(self) -> list[str]:
        """The sets whose accuracies the table has."""
        known = self.before.right if self.before is not None else {}
        return [*self.rules.tests, *([VALIDATION] if VALIDATION in known else [])]

    def table(self) -> list[tuple[str, list[str]]]:
        """Accuracies under `columns`: a row for each model, and a second one if the test split has halves."""
        found = []
        for name, models in self.rows():
            found.append((name, [accuracy_words(models, column) for column in self.columns]))
            if FIRST_HALF in models[0].right:
                halves = {TEST: SECOND_HALF, VALIDATION: FIRST_HALF}
                cells = [
                    accuracy_words(models, halves[column]) if column in halves else ""
                    for column in self.columns
                ]
                found.append(("  halves of the test split, as published", cells))
        return found

    @property
    def lines(self) -> list[str]:
        if self.before is None:
            return []
        heads = "".join(f"{self.rules.names[column]:>26}" for column in self.columns)
        rows = [f"{name:<44}" + "".join(f"{cell:>26}" for cell in cells) for name, cells in self.table()]
        chosen = ", ".join("none" if weight is None else f"{weight:g}" for weight in self.chosen)
        epochs = [self.epoch_words] if self.best and self.epochs > 1 and not self.epoch_by else []
        return [f"{'tuned on':<44}{heads}", *rows, f"lambda chosen, by seed: {chosen}", *epochs]

    @property
    def sentences(self) -> list[str]:
        return self.said(is_proof_held=True)

    def said(self, *, is_proof_held: bool) -> list[str]:
        """What fine-tuning has changed beyond its controls, claimed only if that and a proof support it."""
        impure = len(self.impure)
        if self.before is None:
            why = (
                f"no scenario is pure enough (below the threshold: {impure})"
                if impure
                else "there is no scenario"
            )
            return [f"Nothing was corrected: {why}."]
        left = [f"Too impure to correct: {counted(impure, 'further scenario')}."] if impure else []
        if not self.best:
            return [*left, f"No weight of the scenarios kept {self.rules.kept}; nothing was chosen."]
        changes = list(
            self._of_scenes(self.before) if self.domain == "scenes" else self._of_pictures(self.before)
        )
        epochs = [self.epoch_words] if self.epoch_by and self.epochs > 1 else []
        return [*changes, *left, *epochs, self._claimed(is_proof_held)]

    @property
    def epoch_words(self) -> str:
        """Which epochs' weights the chosen models have."""
        if not self.epoch_by:
            return f"Weights of the last of {counted(self.epochs, 'epoch')}."
        kept = ", ".join(str(each.epoch) for each in self.best)
        return f"Weights of the epoch best on {self.epoch_by} pictures, of {self.epochs}, by seed: {kept}."

    def _of_pictures(self, before: Tuned) -> Iterator[str]:
        zero = self.of(SWEEP, 0.0)
        yield (
            f"{counted(len(self.corrected), 'scenario')} corrected with {counted(len(self.best), 'seed')}: right on "
            f"{accuracy_words(self.best, FRESH)} of fresh draws ({accuracy_words([before], FRESH)} before, "
            f"{accuracy_words(zero, FRESH)} after the same training without scenarios) and on "
            f"{accuracy_words(self.best, TEST)} of the test split ({accuracy_words([before], TEST)} before, "
            f"{accuracy_words(zero, TEST)} without scenarios)."
        )

    def _of_scenes(self, before: Tuned) -> Iterator[str]:
        halved, seeds = self.halved(), counted(len(self.chosen), "seed")
        yield (
            f"Of {counted(len(self.corrected), 'scenario')}, at most half as often misread at the deciding preset as "
            f"before and as by {self.rules.names[ZERO]}, with {'each of ' if len(self.chosen) > 1 else ''}{seeds}, "
            "intervals clear of no change: "
            + (
                f"{len(halved)} ({'group' if len(halved) == 1 else 'groups'} {', '.join(map(str, halved))})."
                if halved
                else "none."
            )
        )
        for test in self.rules.claimed:
            name = capitalized(self.rules.names[test])
            yield f"{name}: misread {wrong_words([before], test)} before, {wrong_words(self.best, test)} after."
        points = (
            f"{signed_points(-max(self.lost))} to {signed_points(-min(self.lost))} points"
            if self.lost
            else "–"
        )
        yield (
            f"Answers about ordinary scenes: {accuracy_words([before], ANSWERS)} right before, "
            f"{accuracy_words(self.best, ANSWERS)} after ({points})."
        )

    def _claimed(self, is_proof_held: bool) -> str:
        names = self.rules.names
        if self.is_repaired and is_proof_held:
            tests = [names[test] for test in self.rules.claimed]
            return (
                "Repaired: in every seed the corrected model is better than before and than every control, on "
                f"{', '.join(tests[:-1])} and {tests[-1]}, each 95% interval clear of no change."
            )
        missed = [each for each in self.claims(self.rules.claimed) if not each.is_better_where_chosen]
        reasons = list(self._reasons(missed))
        if not is_proof_held:
            reasons.append("official pictures or a new search speak against it (below)")
        gain = ", although every tuned seed gains clearly on every claimed test, against every control"
        return f"Not claimed to be repaired{'' if missed else gain}: {'; '.join(reasons)}."

    def _reasons(self, missed: Sequence[Claim]) -> Iterator[str]:
        names, unchosen = self.rules.names, sum(weight is None for weight in self.chosen)
        if unchosen:
            seeds = counted(len(self.chosen), "seed")
            yield f"in {unchosen} of {seeds} no weight of the scenarios kept {self.rules.kept}"
        if missed:
            first, further = missed[0], counted(len(missed) - 1, "further comparison")
            yield (
                f"no clear gain in every tuned seed on {names[first.test]} against {names[first.against]} "
                f"({first.difference})" + (f", nor in {further}" if len(missed) > 1 else "")
            )
        if self.is_costly and self.lost:
            against, test = self.rules.cost
            words = self.claim(against, test).difference
            yield f"too much is lost on the {names[test]} against {names[against]} ({words})"


def scenario_test(name: str, number: int) -> str:
    """The name of a test on one scenario alone."""
    return f"{name} {number}"


def accuracy_words(models: Sequence[Tuned], name: str) -> str:
    """Mean and range over the seeds: "95.1% (94.8 to 95.6)"."""
    values = [each.accuracy(name).value for each in models if each.right[name][1]]
    if not values:
        return "–"
    mean = percent(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f} to {100 * max(values):.1f})"


def wrong_words(models: Sequence[Tuned], name: str) -> str:
    """How many are wrong, one number for each model: "140 of 200 / 120 of 200"."""
    counts = [each.right[name] for each in models]
    return " / ".join(f"{of - right} of {of}" for right, of in counts) or "–"
