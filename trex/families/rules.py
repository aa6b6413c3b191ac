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
from trex.inference.types import Floats

LEVEL = 0.01  # chance that a meaningless condition is added
BEAM = 8  # rules of each length that are extended
NOTHING = 1e-9  # weight below which no case is left
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """Columns of the conditions, ascending; weight of the cases and events where all of them hold; the gain in nats."""

    conditions: tuple[int, ...]
    cases: float
    events: float
    gain: float


def find_rules(
    holds: Bools,
    events: Bools,
    *,
    most_conditions: int = 4,
    most_rules: int = 8,
    least_events: int = 5,
    level: float = LEVEL,
    weights: Floats | None = None,
) -> list[Rule]:
    """The rules for (n,) events among n cases with m conditions, `holds` (n, m); the best first, none by chance.

    Counts of a rule leave out the cases of the rules before it. A rule has at least `least_events` events. `weights`
    (n,), at most 1: how much each case counts. Cases that fail together, as the objects of one scene may, are no
    evidence of their own: give those of one cluster a sum of 1.
    """
    counts = np.ones(len(holds)) if weights is None else weights
    if holds.ndim != 2 or events.shape != (len(holds),):
        raise InputError(f"conditions {holds.shape} and events {events.shape} do not belong together")
    left = np.ones(len(holds), dtype=np.bool_)
    rules: list[Rule] = []
    while len(rules) < most_rules:
        rule = _best(holds[left], events[left], counts[left], most_conditions, least_events, level)
        if rule is None:
            break
        rules.append(rule)
        left &= ~matches(holds, rule)
    return rules


def matches(holds: Bools, rule: Rule) -> Bools:
    """(n,): the cases for which all conditions of the rule hold."""
    found: Bools = holds[:, list(rule.conditions)].all(axis=1)
    return found


def gain(events_in: float, cases_in: float, events: float, cases: float) -> float:
    """The gain in log likelihood (nats) of two chances over one; 0 unless the event is more frequent inside."""
    out, cases_out = events - events_in, cases - cases_in
    if cases_in < NOTHING or cases_out < NOTHING or events_in * cases_out <= out * cases_in:
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


def _best(
    holds: Bools, events: Bools, weights: Floats, most_conditions: int, least_events: int, level: float
) -> Rule | None:
    """The rule that gains most beyond what its conditions cost; None if none gains more than that."""
    cost = needed(holds.shape[1], level)
    found: list[Rule] = []
    beam = [Rule((), float(weights.sum()), float(weights[events].sum()), 0.0)]
    for _ in range(most_conditions):
        longer = {
            extension.conditions: extension
            for rule in beam
            for extension in _extensions(holds, events, weights, rule, least_events)
        }
        beam = sorted(longer.values(), key=_order)[:BEAM]
        found += beam
    best = min(found, key=lambda rule: (cost * len(rule.conditions) - rule.gain, _order(rule)), default=None)
    return None if best is None else _pruned(holds, events, weights, best, cost)


def _extensions(holds: Bools, events: Bools, weights: Floats, rule: Rule, least_events: int) -> list[Rule]:
    """The rule with one more condition, each way."""
    inside = matches(holds, rule) if rule.conditions else np.ones(len(holds), dtype=np.bool_)
    cases, hits = weights[inside] @ holds[inside], weights[inside & events] @ holds[inside & events]
    total, n = float(weights[events].sum()), float(weights.sum())
    found = []
    for c in range(holds.shape[1]):
        if c not in rule.conditions and hits[c] >= least_events - NOTHING:
            known = gain(float(hits[c]), float(cases[c]), total, n)
            found.append(Rule(tuple(sorted((*rule.conditions, c))), float(cases[c]), float(hits[c]), known))
    return found


def _pruned(holds: Bools, events: Bools, weights: Floats, rule: Rule, cost: float) -> Rule | None:
    """The rule or, of those with some of its conditions, the one that gains most beyond the cost; None for none."""
    n, total = float(weights.sum()), float(weights[events].sum())
    found = [Rule((), n, total, 0.0)]
    for size in range(1, len(rule.conditions) + 1):
        for conditions in combinations(rule.conditions, size):
            inside = holds[:, list(conditions)].all(axis=1)
            cases, hits = float(weights[inside].sum()), float(weights[inside & events].sum())
            found.append(Rule(conditions, cases, hits, gain(hits, cases, total, n)))
    best = min(found, key=lambda each: (cost * len(each.conditions) - each.gain, _order(each)))
    return best if best.conditions else None


def _order(rule: Rule) -> tuple[float, int, tuple[int, ...]]:
    return (-rule.gain, len(rule.conditions), rule.conditions)


def _log_likelihood(events: float, cases: float) -> float:
    """Of so many events at their most likely chance."""
    other = cases - events
    return sum(k * float(np.log(k / cases)) for k in (events, other) if k > NOTHING)
