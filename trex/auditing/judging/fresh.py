"""What confirmed families hold in fresh scenes, which neither made nor judged a rule, and how stable they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trex.auditing.grouping.family import Family
from trex.auditing.grouping.group import group
from trex.auditing.grouping.sentences import family_words
from trex.auditing.grouping.situation import Situation
from trex.auditing.judging.findings import (
    Share,
    belonging,
    borne_out,
    clustered_share,
    covered,
    held_out,
    seen_in,
    share_of,
)
from trex.scenes.vocabulary import Vocabulary

Parts = tuple[Sequence[Situation], Sequence[Situation]]  # what made the rules, and what judged them
# Of each picture and confident mistake, the families that it belongs to.
Owners = Sequence[Sequence[set[int]]]


@dataclass(frozen=True)
class Agreement:
    """How two sets of families divide the same confident mistakes into those they hold and the others.

    The first set was made from one part of an audit's scenes and borne out by the other; for the second the two parts
    swap roles. Neither takes the deciding look into account. `same`: the mistakes that both sets hold, or neither;
    `kappa`: Cohen's (1960, Educational and Psychological Measurement 20, 37-46), None if chance alone would agree
    everywhere. `words`: how many sentences each set has, and how many both have word for word.
    """

    same: Share
    kappa: float | None
    words: tuple[int, int, int]


@dataclass(frozen=True)
class Fresh:
    """Confirmed families in fresh scenes.

    `coverage`: of all confident mistakes, those that belong to one of them; `fails`, by the number of a family: of the
    scenes in which its conditions hold, those in which the model fails so; `covers`: its share of the mistakes.
    """

    scenes: int
    coverage: Share
    fails: Mapping[int, Share]
    covers: Mapping[int, Share]
    agreement: Agreement


def in_fresh_scenes(
    parts: Parts,
    families: Sequence[Family],
    confirmed: set[int],
    scenes: Sequence[Situation],
    vocabulary: Vocabulary,
) -> Fresh:
    """What confirmed families, given by their places, hold in fresh scenes; `parts` made and judged the rules.

    Families are worded as the judging part has left them (`held_out`); fresh scenes reword none.
    """
    owners = belonging(families, scenes)
    fails = {}
    chosen = sorted(confirmed)
    for number, seen in zip(chosen, seen_in([families[k] for k in chosen], scenes), strict=True):
        fails[number] = share_of(len(seen.failures), len(seen.inside))
    return Fresh(
        len(scenes),
        covered(owners, confirmed),
        fails,
        {number: covered(owners, {number}) for number in fails},
        _agreement(parts, families, (owners, scenes), vocabulary),
    )


def agreement(first: Owners, second: Owners) -> tuple[Share, float | None]:
    """Of the mistakes that a family of both sets or of neither owns: their share, and Cohen's kappa."""
    pairs = [
        [(bool(one), bool(other)) for one, other in zip(mine, theirs, strict=True)]
        for mine, theirs in zip(first, second, strict=True)
    ]
    same = clustered_share(
        [sum(one == other for one, other in picture) for picture in pairs], list(map(len, pairs))
    )
    flat = [pair for picture in pairs for pair in picture]
    if not flat:
        return same, None
    held = [sum(pair[k] for pair in flat) / len(flat) for k in (0, 1)]
    chance = held[0] * held[1] + (1 - held[0]) * (1 - held[1])
    return same, None if chance == 1.0 else (same.value - chance) / (1.0 - chance)


def _agreement(
    parts: Parts,
    families: Sequence[Family],
    fresh: tuple[Owners, Sequence[Situation]],
    vocabulary: Vocabulary,
) -> Agreement:
    (made, judged), (owners, scenes) = parts, fresh
    turned = held_out(group(judged, vocabulary), made)
    others = [one.family for one in turned]
    mine, theirs = borne_out(seen_in(families, judged)), borne_out(turned)
    same, kappa = agreement(_of(owners, mine), _of(belonging(others, scenes), theirs))
    words = {family_words(families[k]) for k in mine}, {family_words(others[k]) for k in theirs}
    return Agreement(same, kappa, (len(words[0]), len(words[1]), len(words[0] & words[1])))


def _of(owners: Owners, chosen: set[int]) -> list[list[set[int]]]:
    return [[one & chosen for one in picture] for picture in owners]
