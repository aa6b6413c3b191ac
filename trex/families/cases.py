"""Families of found scenes: what the model misreads in them, and the conditions that they share.

Found scenes are few and depend on each other, so their failures are held against objects of plain prior scenes whose
answers need not be known (a case-cohort design: Prentice 1986, Biometrika 73, 1-11): a condition that all failures
meet and few objects of the prior do says when the model fails. Objects of the prior that are known to fail are no
controls. Failures of one cluster count once. Whether a condition matters is judged by prior scenes that are not among
the cases (`judged`). If all failures come from one question, the situations count only what that can show
(`Situation.showing`, `trex.families.one_question`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trex.families.discover import Situation, conditions_of, counted, of_truth, was
from trex.families.family import CLEAR, Family, Judged, Share, named_value
from trex.families.pattern import Pattern
from trex.families.rules import LEVEL, Rule, find_rules, needed
from trex.families.symptom import PHANTOM, Failure, Symptom, is_such
from trex.inference.statistics.two_phase import Selection, everyone
from trex.inference.types import Floats
from trex.scenes.conditions import Bools, Condition
from trex.scenes.questions.variants import Ints
from trex.scenes.vocabulary import Vocabulary

MOST_CONDITIONS = 4
SHARED = 0.8  # of a kind's failures, the share that one rule for all of them must hold for
SPLIT = 3  # failures that a rule for a part of them must hold for
SUGGESTED = 0.2  # level of a condition that is named as a possibility, for other scenes to judge
OFTEN = 0.5  # share of the members that a further condition must hold for to be named
# Level of each of the two intervals that `judged` compares: both hold together at 95%, for each of two halves.
EACH = 0.9875
COHORT = 0.99  # level of the bounds on how many units of a prior scene meet the conditions


@dataclass(frozen=True)
class Case:
    """A failure in one scene: at `place` among the hits (-1: it is none); failures of one `cluster` count once."""

    scene: Situation
    failure: Failure
    cluster: Hashable
    place: int = -1

    @property
    def was(self) -> str:
        """What the unit is in truth."""
        return was(self.scene, self.failure)


def families_of(cases: Sequence[Case], cohort: Sequence[Situation], vocabulary: Vocabulary) -> list[Family]:
    """The families of these failures, those with the most members first.

    `cohort` are plain prior scenes with what is known to fail in each. A unit that fails is held against none, and nor
    is any of a scene in which something fails, but it is not known what (`Situation.is_untraced`): of those that fail
    in a scene together it would not be known, and a condition under which they fail alone would seem to matter.

    A kind of failure with a condition that nearly all of its cases share is one family; if only a part shares one, that
    part is a family and the others are another. What is misread is told for each true value by itself if one of them
    makes up most of it, or if only so its conditions stand out: green, red and blue things that are all seen as cyan
    where they are hidden are one family. So is what it is taken for: red things that are seen as brown, gray and purple
    are seen in another color. Cases that are no hits help to find conditions, and are no members.
    """
    kinds: dict[Symptom, list[Case]] = {}
    for case in cases:
        kinds.setdefault(case.failure.symptom, []).append(case)
    found = [family for mine in kinds.values() for family in _of_symptom(mine, cohort, vocabulary)]
    return sorted(found, key=lambda family: (-family.size, family.members))


def judged(
    family: Family,
    others: Mapping[int, Situation],
    selection: Selection,
    cohort: Sequence[Situation],
) -> Judged:
    """What prior scenes that are no cases show of a family.

    `others` has, by their place in the selection, those scenes in which something failed; no case is among them, and
    the inclusion probabilities are those of becoming one of them. A share is how many units fail in a mean scene
    (Horvitz and Thompson), over how many units it has. Units are counted, because the more of them a scene has, the
    likelier one meets conditions, and the likelier one fails: of scenes with a unit inside, a larger share would fail
    than of scenes with one outside although the conditions mean nothing. A scene stays one event, as units of one scene
    may fail together.
    """
    failed = np.zeros((selection.members.size, 2))
    for place, scene in others.items():
        failed[place] = counts(family, scene)[:, 0]
    units = np.array([counts(family, scene)[:, 1] for scene in cohort], dtype=np.float64).reshape(-1, 2)
    most = max(1, int(failed.max(initial=0.0)))  # failing units of a scene; an unseen scene is taken for such

    def share(side: int) -> Share:
        if not units[:, side].any():
            return Share(0.0, 0.0, 1.0)
        fails = _mean(failed[:, side], selection, most, EACH)
        could = _mean(units[:, side], everyone(len(units)), int(units[:, side].max()), COHORT)
        value, low, high = fails[0] / could[0], fails[1] / could[2], fails[2] / could[1]
        return Share(min(1.0, value), min(1.0, low), min(1.0, high))

    return Judged(share(0), share(1), scenes=int(failed.any(axis=1).sum()))


def _mean(values: Floats, selection: Selection, most: int, level: float) -> tuple[float, float, float]:
    """The mean over the prior of counts (k,) from 0 to `most`, with both ends of its interval.

    That of a weighted sum of Poisson counts (Fay and Feuer 1997, Statistics in Medicine 16, 791-801), in which a scene
    is one event that weighs as much as it has units; the upper end supposes one more of the heaviest.
    """
    from scipy.stats import gamma

    weights, tail, more = selection.weights, (1.0 - level) / 2.0, selection.heaviest * most
    total, squares = float(weights @ values), float(weights**2 @ values**2)
    above, feared = total + more, squares + more**2
    low = gamma.ppf(tail, total**2 / squares) * squares / total if total else 0.0
    high = gamma.ppf(1.0 - tail, above**2 / feared) * feared / above
    return total / selection.n, float(low) / selection.n, float(high) / selection.n


def _of_symptom(cases: Sequence[Case], cohort: Sequence[Situation], vocabulary: Vocabulary) -> list[Family]:
    """Of each value that units are taken for by itself, unless none has half of the starts; phantoms are one."""
    hits = [case for case in cases if case.place >= 0]
    starts = Counter(value for value, _ in {(case.failure.value, case.cluster) for case in hits})
    of_each = [[case for case in cases if case.failure.value == value] for value in starts]
    if hits and hits[0].failure.symptom.what == PHANTOM:
        return _of_kind(cases, cohort, vocabulary)
    split = [family for mine in of_each for family in _of_kind(mine, cohort, vocabulary)]
    if 2 * max(starts.values(), default=0) >= starts.total():
        return split
    together = _of_kind(cases, cohort, vocabulary)
    clear = [sum(family.size for family in each if family.is_clear) for each in (together, split)]
    return together if clear[0] >= clear[1] else split


def _of_kind(cases: Sequence[Case], cohort: Sequence[Situation], vocabulary: Vocabulary) -> list[Family]:
    truths = Counter(case.was for case in cases if case.place >= 0)
    split = [
        family
        for truth in truths
        for family in _of_truth(truth, [case for case in cases if case.was == truth], cohort, vocabulary)
    ]
    starts = Counter(was for was, _ in {(case.was, case.cluster) for case in cases})
    if max(starts.values()) >= CLEAR * starts.total():
        return split
    together = _of_truth("", cases, cohort, vocabulary)
    clear = [sum(family.size for family in each if family.is_clear) for each in (together, split)]
    return together if clear[0] >= clear[1] and _are_alike(cases, together[0]) else split


def _are_alike(cases: Sequence[Case], family: Family) -> bool:
    """Whether most true values that SPLIT starts or more have are in the family with more than half of these.

    Four spheres of which two meet what six cylinders share, as other spheres do, show nothing of spheres.
    """
    starts = {(case.was, case.cluster): case.place in family.members for case in cases if case.place >= 0}
    of = Counter(was for was, _ in starts)
    inside = Counter(was for (was, _), is_member in starts.items() if is_member)
    often = [was for was, n in of.items() if n >= SPLIT]
    return not often or sum(inside[was] > of[was] / 2 for was in often) > len(often) / 2


def _of_truth(
    truth: str, cases: Sequence[Case], cohort: Sequence[Situation], vocabulary: Vocabulary
) -> list[Family]:
    """The families of cases whose units are all `truth`, or of any; held against units of the prior that are so."""
    symptom = cases[0].failure.symptom
    value = named_value(symptom, [case.failure.value for case in cases])
    every = conditions_of(vocabulary)[symptom.level]
    known = of_truth(every, symptom, ((truth, value, len(cases)),)) if truth else []
    left = [k for k in range(len(every)) if k not in known]
    base, conditions = [every[k] for k in known], [every[k] for k in left]
    table = np.stack([case.scene.table(symptom.level)[case.failure.unit, left] for case in cases])
    rows, is_sound = [np.zeros((0, len(left)), np.bool_)], [np.zeros(0, np.bool_)]
    for scene in cohort:
        times = _times(scene, symptom, value, base)
        rows.append(np.repeat(scene.table(symptom.level), times, axis=0)[:, left])
        is_sound.append(np.repeat(_may_be_sound(scene, symptom, value, len(times)), times))
    others = np.concatenate(rows)
    sound = others[np.concatenate(is_sound)]
    found = []
    for rule, is_clear, places in _covered(table, sound, [case.cluster for case in cases]):
        hits = [k for k in places if cases[k].place >= 0]
        if hits:
            members = [cases[k] for k in hits]
            became = counted((case.was, case.failure.value) for case in members)
            kind = of_truth(conditions, symptom, became)
            named = sorted({*rule, *kind})
            family = _family(symptom, [*base, *(conditions[c] for c in named)], members, became, is_clear)
            such = others[others[:, kind].all(axis=1)]
            if rule and len(such):
                family = replace(family, usual=(int(such[:, list(rule)].all(axis=1).sum()), len(such)))
            starts = [hits[k] for k in _one_of_each([cases[k].cluster for k in hits])]
            column = _often(table[starts], others, rule)
            if column is not None and column not in named:
                family = replace(family, often=(conditions[column], int(table[hits, column].sum())))
            found.append(family)
    return found


def _covered(
    table: Bools, others: Bools, clusters: Sequence[Hashable]
) -> list[tuple[tuple[int, ...], bool, list[int]]]:
    """Rules for failures (n, m), each with whether it is clear and the failures that it holds for; all are covered."""
    left, found = list(range(len(table))), []
    while left:
        firsts = [left[k] for k in _one_of_each([clusters[k] for k in left])]
        rule, is_clear = _rule(table[firsts], others)
        inside = [k for k in left if rule is None or table[k][list(rule.conditions)].all()]
        found.append((() if rule is None else rule.conditions, is_clear, inside))
        left = [k for k in left if k not in inside]
    return found


def _rule(events: Bools, others: Bools) -> tuple[Rule | None, bool]:
    """The conditions that single the failures out, and whether these failures alone show that they matter.

    A rule for nearly all failures, at the level of an audit's, unless one for a part of them fits better by what one
    more condition must bring; without either, a rule for nearly all as a suggestion.
    """
    n = len(events)
    if n < 2 or not len(others):
        return None, False
    most = max(2, math.ceil(SHARED * n))
    whole = _best_rule(events, others, most, LEVEL)
    part = _best_rule(events, others, max(SPLIT, math.ceil(n / 3)), LEVEL) if n >= SPLIT else None
    if part and (whole is None or part.gain >= whole.gain + needed(events.shape[1])):
        return part, True
    if whole:
        return whole, True
    return _best_rule(events, others, most, SUGGESTED), False


def _best_rule(
    events: Bools, others: Bools, least: int, level: float, most_conditions: int = MOST_CONDITIONS
) -> Rule | None:
    """The rule of the largest gain that holds for at least `least` of the failures (n, m), against other units."""
    flags = np.zeros(len(events) + len(others), dtype=np.bool_)
    flags[: len(events)] = True
    found = find_rules(
        np.concatenate([events, others]),
        flags,
        most_conditions=most_conditions,
        most_rules=1,
        least_events=least,
        level=level,
    )
    return found[0] if found else None


def _often(members: Bools, others: Bools, known: Sequence[int]) -> int | None:
    """A further condition that more than half of the members meet, much more often than such objects of the prior."""
    inside = others[others[:, list(known)].all(axis=1)] if known else others
    if not len(inside) or len(members) < SPLIT:
        return None
    found = _best_rule(members, inside, max(2, math.ceil(OFTEN * len(members))), LEVEL, 1)
    return found.conditions[0] if found else None


def _family(
    symptom: Symptom,
    conditions: Sequence[Condition],
    members: Sequence[Case],
    became: tuple[tuple[str, str, int], ...],
    is_clear: bool,
) -> Family:
    return Family(
        Pattern.of(conditions),
        symptom,
        became,
        members=tuple(sorted(case.place for case in members)),
        clusters=len({case.cluster for case in members}),
        is_clear=is_clear,
    )


def _one_of_each(clusters: Sequence[Hashable]) -> list[int]:
    """The first case of each cluster."""
    return [k for k, cluster in enumerate(clusters) if cluster not in clusters[:k]]


def counts(family: Family, scene: Situation) -> NDArray[np.int64]:
    """(2, 2): units that fail as the sentence says, and that could: under its conditions, and outside of them."""
    holds, could = scene.holds(family), could_fail(family, scene)
    fails = np.zeros_like(could)
    fails[list(scene.everywhere(family))] = True
    return np.array(
        [[int((fails & side).sum()), int(side.sum())] for side in (could & holds, could & ~holds)]
    )


def _may_be_sound(scene: Situation, symptom: Symptom, value: str, units: int) -> Bools:
    """(units,): which units of a plain scene are not known to fail so."""
    failed = [
        each.unit
        for each in scene.failures
        if each.symptom == symptom and is_such(symptom, each.value, value)
    ]
    found: Bools = ~np.isin(np.arange(units), failed) & (not scene.is_untraced)
    return found


def could_fail(family: Family, scene: Situation) -> Bools:
    """(units,): which units of a scene could fail so: those that are in truth what the family says that they are."""
    conditions = family.pattern.conditions
    base = [conditions[k] for k in of_truth(conditions, family.symptom, family.became)]
    return _times(scene, family.symptom, family.value, base) > 0


def _times(scene: Situation, symptom: Symptom, value: str, base: Sequence[Condition]) -> Ints:
    found: Ints = scene.meets(symptom.level, base) * scene.times(symptom, value)
    return found
