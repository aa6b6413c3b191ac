"""Rules: few conditions which, together, single out where something happens (subgroup discovery by beam search).

A rule is as good as the gain in log likelihood of a model with one chance of the event where all its conditions hold
and another elsewhere, over a model with a single chance (Dunning 1993, Computational Linguistics 19, 61-74). Twice
that gain is about chi-square distributed with one degree of freedom if the rule means nothing, so each condition costs
half of the 1 - LEVEL/m quantile of it, with m the number of conditions that could have been added (Bonferroni). The
rule with the largest gain beyond that cost wins: compared with any rule of some of its conditions it gains as much for
each of the others. Conditions of few cases may matter only together: neither of two needs to pay alone.
Rules are found one after another, each among the cases that no rule before holds for (sequential covering).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError

LEVEL = 0.01  # chance that a meaningless condition is added
BEAM = 8  # rules of each length that are extended
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """Columns of the conditions, ascending; cases and events where all of them hold; the gain in nats."""

    conditions: tuple[int, ...]
    cases: int
    events: int
    gain: float


def find_rules(
    holds: Bools,
    events: Bools,
    *,
    most_conditions: int = 4,
    most_rules: int = 8,
    least_events: int = 5,
    level: float = LEVEL,
) -> list[Rule]:
    """The rules for (n,) events among n cases with m conditions, `holds` (n, m); the best first, none by chance.

    Counts of a rule leave out the cases of the rules before it. A rule has at least `least_events` events.
    """
    if holds.ndim != 2 or events.shape != (len(holds),):
        raise InputError(f"conditions {holds.shape} and events {events.shape} do not belong together")
    left = np.ones(len(holds), dtype=np.bool_)
    rules: list[Rule] = []
    while len(rules) < most_rules:
        rule = _best(holds[left], events[left], most_conditions, least_events, level)
        if rule is None:
            break
        rules.append(rule)
        left &= ~matches(holds, rule)
    return rules


def matches(holds: Bools, rule: Rule) -> Bools:
    """(n,): the cases for which all conditions of the rule hold."""
    found: Bools = holds[:, list(rule.conditions)].all(axis=1)
    return found


def gain(events_in: int, cases_in: int, events: int, cases: int) -> float:
    """The gain in log likelihood (nats) of two chances over one; 0 unless the event is more frequent inside."""
    out, cases_out = events - events_in, cases - cases_in
    if cases_in == 0 or cases_out == 0 or events_in * cases_out <= out * cases_in:
        return 0.0
    return (
        _log_likelihood(events_in, cases_in)
        + _log_likelihood(out, cases_out)
        - _log_likelihood(events, cases)
    )


def needed(conditions: int, level: float = LEVEL) -> float:
    """The gain (nats) that one more of so many conditions must bring."""
    from scipy.stats import chi2

    return float(chi2.isf(level / max(1, conditions), 1)) / 2.0


def _best(holds: Bools, events: Bools, most_conditions: int, least_events: int, level: float) -> Rule | None:
    """The rule that gains most beyond what its conditions cost; None if none gains more than that."""
    cost, total = needed(holds.shape[1], level), int(events.sum())
    found: list[Rule] = []
    beam = [Rule((), len(holds), total, 0.0)]
    for _ in range(most_conditions):
        longer = {
            extension.conditions: extension
            for rule in beam
            for extension in _extensions(holds, events, rule, least_events)
        }
        beam = sorted(longer.values(), key=_order)[:BEAM]
        found += beam
    best = min(found, key=lambda rule: (cost * len(rule.conditions) - rule.gain, _order(rule)), default=None)
    return None if best is None else _pruned(holds, events, best, cost)


def _extensions(holds: Bools, events: Bools, rule: Rule, least_events: int) -> list[Rule]:
    """The rule with one more condition, each way."""
    inside = matches(holds, rule) if rule.conditions else np.ones(len(holds), dtype=np.bool_)
    cases, hits = holds[inside].sum(axis=0), holds[inside & events].sum(axis=0)
    total, n = int(events.sum()), len(holds)
    found = []
    for c in range(holds.shape[1]):
        if c not in rule.conditions and hits[c] >= least_events:
            known = gain(int(hits[c]), int(cases[c]), total, n)
            found.append(Rule(tuple(sorted((*rule.conditions, c))), int(cases[c]), int(hits[c]), known))
    return found


def _pruned(holds: Bools, events: Bools, rule: Rule, cost: float) -> Rule | None:
    """The rule or, of those with some of its conditions, the one that gains most beyond the cost; None for none."""
    n, total = len(holds), int(events.sum())
    found = [Rule((), n, total, 0.0)]
    for size in range(1, len(rule.conditions) + 1):
        for conditions in combinations(rule.conditions, size):
            inside = holds[:, list(conditions)].all(axis=1)
            cases, hits = int(inside.sum()), int((inside & events).sum())
            found.append(Rule(conditions, cases, hits, gain(hits, cases, total, n)))
    best = min(found, key=lambda each: (cost * len(each.conditions) - each.gain, _order(each)))
    return best if best.conditions else None


def _order(rule: Rule) -> tuple[float, int, tuple[int, ...]]:
    return (-rule.gain, len(rule.conditions), rule.conditions)


def _log_likelihood(events: int, cases: int) -> float:
    """Of so many events at their most likely chance."""
    other = cases - events
    return sum(k * float(np.log(k / cases)) for k in (events, other) if k)
