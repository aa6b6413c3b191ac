"""Families in a world of named values: for which values the model fails.

Rules are made from one half of the prior draws and judged by the other one, both ways. If a half holds too few
failures, distinct hits of the search join it: one of each cluster, since the hits of a chain depend on each other, and
none that descends from the other half. Hits never judge: a search finds more where it looks longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.families.cases import EACH, MOST_CONDITIONS
from trex.families.discover import LEAST_EVENTS
from trex.families.family import Family, Judged, Share
from trex.families.pattern import Pattern
from trex.families.rules import find_rules, gain, matches, needed
from trex.families.symptom import Symptom
from trex.inference.statistics.proportion import clopper_pearson
from trex.scenes.conditions import Bools, Condition
from trex.worlds.description import Noun

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PriorDraws:
    """Independent prior draws: which conditions hold (n, m), and in which of them the model fails (n,)."""

    holds: Bools
    fails: Bools


@dataclass(frozen=True, eq=False)
class FoundDraws:
    """Distinct hits, most confident first: which conditions hold (h, m), cluster (h,), and origin (h,).

    The origin is the place of the prior draw that a hit is, or descends from, among the prior draws; -1 for none.
    """

    holds: Bools
    clusters: Places
    origins: Places


def value_families(
    conditions: Sequence[Condition], prior: PriorDraws, found: FoundDraws, symptom: Symptom, noun: Noun
) -> tuple[list[Family], Bools]:
    """The families of the hits, confirmed ones first, each with what the other half shows; none if nothing stands out.

    No hit is in two; those that no rule holds for are in none. And the prior draws (n,) of that other half, which took
    no part in making the rules.
    """
    even = np.arange(len(prior.fails)) % 2 == 0
    tries = [(_families(conditions, prior, found, half, symptom, noun), ~half) for half in (even, ~even)]
    best, judges = max(tries, key=lambda each: _worth(each[0], conditions, prior))
    return sorted(best, key=lambda family: (family.is_tentative, -family.size)), judges


def _families(
    conditions: Sequence[Condition],
    prior: PriorDraws,
    found: FoundDraws,
    half: Bools,
    symptom: Symptom,
    noun: Noun,
) -> list[Family]:
    """The families by the rules of this half, judged by the other one."""
    firsts = _independent(prior, found, half)
    holds = np.concatenate([prior.holds[half], found.holds[firsts]])
    fails = np.concatenate([prior.fails[half], np.ones(len(firsts), dtype=np.bool_)])
    left, families = np.ones(len(found.holds), dtype=np.bool_), []
    for rule in find_rules(holds, fails, most_conditions=MOST_CONDITIONS, least_events=LEAST_EVENTS):
        inside = left & matches(found.holds, rule)
        left &= ~inside
        if inside.any():
            members = np.flatnonzero(inside)
            families.append(
                Family(
                    Pattern.of(conditions[c] for c in rule.conditions),
                    symptom,
                    members=tuple(members.tolist()),
                    noun=noun,
                    clusters=len(set(found.clusters[members].tolist())),
                    judged=_judged(matches(prior.holds[~half], rule), prior.fails[~half]),
                )
            )
    return families


def _independent(prior: PriorDraws, found: FoundDraws, half: Bools) -> list[int]:
    """One hit of each cluster that says nothing of the other half's draws and adds to this one's failures.

    None if this half holds failures enough.
    """
    if prior.fails[half].sum() >= LEAST_EVENTS:
        return []
    firsts = []
    for cluster in dict.fromkeys(found.clusters.tolist()):
        hits = np.flatnonzero(found.clusters == cluster)
        origins = found.origins[hits]
        if (origins >= 0).all() and half[origins].all() and not prior.fails[origins].any():
            firsts.append(int(hits[0]))
    return firsts


def _judged(inside: Bools, fails: Bools) -> Judged:
    return Judged(_share(fails[inside]), _share(fails[~inside]), scenes=int(fails.sum()))


def _share(fails: Bools) -> Share:
    count, n = int(fails.sum()), len(fails)
    return Share(count / n if n else 0.0, *clopper_pearson(count, n, EACH))


def _worth(
    families: Sequence[Family], conditions: Sequence[Condition], prior: PriorDraws
) -> tuple[float, int]:
    """What the confirmed families gain in all prior draws beyond the cost of their conditions; hits of all families."""
    n, events, cost = len(prior.fails), int(prior.fails.sum()), needed(len(conditions))
    total = 0.0
    for family in families:
        if family.is_established:
            columns = [conditions.index(each) for each in family.pattern.conditions]
            inside = prior.holds[:, columns].all(axis=1)
            failed = int((inside & prior.fails).sum())
            total += gain(failed, int(inside.sum()), events, n) - cost * len(columns)
    return total, sum(family.size for family in families)
