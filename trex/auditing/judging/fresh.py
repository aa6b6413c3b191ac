"""What confirmed families hold in fresh scenes, which neither made nor judged a rule, and how stable they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trex.auditing.judging.findings import (
    Memberships,
    clustered_share,
    counted_in,
    covered,
    in_held_out,
    memberships_of,
    significant,
)
from trex.auditing.judging.situations import ExaminedScene
from trex.families.discover import discover
from trex.families.family import Family
from trex.inference.statistics.proportion import Proportion
from trex.scenes.vocabulary import Vocabulary

Parts = tuple[Sequence[ExaminedScene], Sequence[ExaminedScene]]  # what made the rules, and what judged them


@dataclass(frozen=True)
class Agreement:
    """How two sets of families divide the same confident mistakes into those they hold and the others.

    The first set was made from one part of an audit's scenes and judged by the other; for the second the two parts
    swap roles. Neither takes the deciding look into account. `same`: the mistakes that both sets hold, or neither;
    `kappa`: Cohen's (1960, Educational and Psychological Measurement 20, 37-46), None if chance alone would agree
    everywhere. `words`: how many sentences each set has, and how many both have word for word.
    """

    same: Proportion
    kappa: float | None
    words: tuple[int, int, int]


@dataclass(frozen=True)
class Fresh:
    """Confirmed families in fresh scenes.

    `coverage`: of all confident mistakes, those that belong to one of them; `fails`, by the number of a family: of the
    scenes in which its conditions hold, those in which the model fails so; `covers`: its share of the mistakes.
    """

    scenes: int
    coverage: Proportion
    fails: Mapping[int, Proportion]
    covers: Mapping[int, Proportion]
    agreement: Agreement


def in_fresh_scenes(
    parts: Parts,
    families: Sequence[Family],
    confirmed: set[int],
    scenes: Sequence[ExaminedScene],
    vocabulary: Vocabulary,
) -> Fresh:
    """What confirmed families, given by their places, hold in fresh scenes; `parts` made and judged the rules.

    Families are worded as the judging part has left them (`held_out`); fresh scenes reword none.
    """
    memberships = memberships_of(families, scenes)
    fails = {}
    chosen = sorted(confirmed)
    for number, seen in zip(chosen, counted_in([families[k] for k in chosen], scenes), strict=True):
        fails[number] = Proportion(len(seen.failures), len(seen.inside))
    return Fresh(
        len(scenes),
        covered(memberships, confirmed),
        fails,
        {number: covered(memberships, {number}) for number in fails},
        _agreement(parts, families, (memberships, scenes), vocabulary),
    )


def agreement(first: Memberships, second: Memberships) -> tuple[Proportion, float | None]:
    """Of the mistakes that belong to a family of both sets or of neither: their share, and Cohen's kappa."""
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
    fresh: tuple[Memberships, Sequence[ExaminedScene]],
    vocabulary: Vocabulary,
) -> Agreement:
    (training, judging), (memberships, scenes) = parts, fresh
    turned = in_held_out(discover(judging, vocabulary), training)
    others = [one.family for one in turned]
    mine, theirs = significant(counted_in(families, judging)), significant(turned)
    same, kappa = agreement(_of(memberships, mine), _of(memberships_of(others, scenes), theirs))
    words = {families[k].words for k in mine}, {others[k].words for k in theirs}
    return Agreement(same, kappa, (len(words[0]), len(words[1]), len(words[0] & words[1])))


def _of(memberships: Memberships, chosen: set[int]) -> list[list[set[int]]]:
    return [[one & chosen for one in picture] for picture in memberships]
