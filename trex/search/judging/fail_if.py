"""Conditions on which a build fails, as `--fail-if` gives them, and their verdicts on a run's results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from trex.foundation.errors import FAILED, UNDECIDED, InputError
from trex.foundation.json_fields import short
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Interval
from trex.search.results import Results

FOUND = "found"
RATE = re.compile(
    r"\s*rate\s*(?P<sign>>=|<=|>|<)\s*(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<power>[eE]-?\d{1,3})?\s*(?P<percent>%)?\s*",
    re.ASCII,
)
FORMS = 'write found, or compare the rate with a number from 0 to 1: "rate > 0.01", "rate >= 1%", "rate < .5"'


class Decision(Enum):
    """Whether a build fails; the value is the exit code."""

    PASS = 0
    FAIL = FAILED
    UNDECIDED = UNDECIDED


@dataclass(frozen=True)
class FailIf:
    """A condition: `found` if `sign` is "", else the rate compared with `bound`; `text` is what the user wrote."""

    text: str
    sign: str = ""
    bound: float = 0.0


@dataclass(frozen=True)
class Ruling:
    """The verdict on a condition, and its reason in words."""

    condition: FailIf
    decision: Decision
    reason: str

    @property
    def words(self) -> str:
        """ "FAIL on rate > 0.01: ..."."""
        return f"{self.decision.name} on {self.condition.text}: {self.reason}"


def parse_fail_if(text: str) -> FailIf:
    """The condition that a text names; InputError says what is allowed."""
    if text.strip() == FOUND:
        return FailIf(FOUND)
    match = RATE.fullmatch(text)
    if match is None or len(text) > 80:
        raise InputError(f"--fail-if {short(text)} is not a condition; {FORMS}")
    bound = float(match["number"] + (match["power"] or "")) / (100.0 if match["percent"] else 1.0)
    if not 0.0 <= bound <= 1.0:
        raise InputError(
            f"--fail-if {short(text)} compares the rate with {bound:g}, which is no rate; {FORMS}"
        )
    return FailIf(" ".join(text.split()), match["sign"], bound)


def rule(condition: FailIf, results: Results, *, is_finished: bool = True) -> Ruling:
    """The verdict on a condition; before a search has finished, only a hit decides anything."""
    proportion, hits = results.how_often.rate, len(results.found)
    reason = f"the rate is {proportion.range} (95%; {proportion.counted})"
    if not condition.sign:
        lost = f", {len(results.fragile)} did not stay under new render noise" if results.fragile else ""
        reason = f"{counted(hits, 'distinct hit')} found{lost}; {reason}"
    if not is_finished and (condition.sign or not hits):
        return Ruling(condition, Decision.UNDECIDED, f"the search has not finished; so far, {reason}")
    if condition.sign:
        return Ruling(condition, decide_rate(condition, results.how_often.rate_interval), reason)
    return Ruling(condition, Decision.FAIL if hits else Decision.PASS, reason)


def decide_rate(condition: FailIf, interval: Interval) -> Decision:
    """FAIL if the comparison holds for every rate in the closed interval, PASS if for none, else UNDECIDED."""
    low, high, bound = interval.low, interval.high, condition.bound
    holds, fails = {
        ">": (low > bound, high <= bound),
        ">=": (low >= bound, high < bound),
        "<": (high < bound, low >= bound),
        "<=": (high <= bound, low > bound),
    }[condition.sign]
    return Decision.FAIL if holds else Decision.PASS if fails else Decision.UNDECIDED


def overall(rulings: Sequence[Ruling]) -> Decision:
    """FAIL if any condition fails, else UNDECIDED if any is undecided, else PASS."""
    decisions = {ruling.decision for ruling in rulings}
    return next(
        (decision for decision in (Decision.FAIL, Decision.UNDECIDED) if decision in decisions), Decision.PASS
    )
