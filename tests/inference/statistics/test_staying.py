"""What is called found stays: simulated hits, with the noise and the means that searches come upon."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from trex.inference.statistics.staying import LEAST_DRAWS, PRIOR_DEVIATION, stays
from trex.inference.types import Floats

MOST, BATCH, N = 8, 2, 3000
EDGE = math.log(0.9 / 0.1)  # of the level set, in logits
Rule = Callable[[Sequence[float], bool, int], bool | None]


class Found(NamedTuple):
    """Of the hits that a rule calls found: the share of further draws that stays, for each; and the draws it took."""

    shares: Floats
    used: float
    of_clear: float  # the share of hits of which at least .95 stay that are called found


def searched(rule: Rule, *, deviation: float = 0.52, most: int = MOST) -> Found:
    """Hits of a search with answers near .9 in logits, of normal noise; each was a hit with one draw.

    Means are as broad as those of the demo (-.9 to 2.5 from the edge), its deviations .4 to .9.
    """
    rng = np.random.default_rng(20)
    mean, noise = EDGE + rng.normal(-1.0, 1.8, 4 * N), deviation * np.exp(rng.normal(0, 0.32, 4 * N))
    is_hit = mean + noise * rng.normal(size=4 * N) >= EDGE
    mean, noise = mean[is_hit][:N], noise[is_hit][:N]
    shares = np.array(
        [0.5 * math.erfc((EDGE - m) / s / math.sqrt(2)) for m, s in zip(mean, noise, strict=True)]
    )
    logits = mean[:, None] + noise[:, None] * rng.normal(size=(len(mean), most))
    probs = 1 / (1 + np.exp(-logits))
    decided = [decide(rule, row, most) for row in probs]
    found = np.array([stay for stay, _ in decided])
    return Found(shares[found], float(np.mean([n for _, n in decided])), float(found[shares >= 0.95].mean()))


def decide(rule: Rule, probs: Floats, most: int) -> tuple[bool, int]:
    """Whether a hit is found, and after how many draws."""
    for n in range(min(BATCH, most), most + 1, BATCH):
        row = probs[:n]
        stay = rule([float(p - 0.9) / 0.1 for p in row], bool(row.mean() >= 0.9), most)
        if stay is not None:
            return stay, n
    raise AssertionError("the rule never decides")


def presuming(presumed: float, margins: Sequence[float], is_inside: bool, most: int) -> bool | None:
    return stays(margins, is_inside, most, presumed)


def first_two(margins: Sequence[float], is_inside: bool, most: int) -> bool:
    """Planted: the mean of the first two draws decides, as it did."""
    return is_inside


def both_inside(margins: Sequence[float], is_inside: bool, most: int) -> bool:
    """Planted: two draws inside are enough."""
    return min(margins) >= 0


def test_what_is_found_stays_in_further_draws() -> None:
    found = searched(stays)
    assert found.shares.mean() >= 0.97
    assert (found.shares < 0.5).mean() < 0.005
    assert found.of_clear > 0.93 and found.used < 7


@pytest.mark.parametrize("planted", [first_two, both_inside])
def test_a_rule_that_stops_at_two_good_draws_is_caught(planted: Rule) -> None:
    found = searched(planted)
    assert found.shares.mean() < 0.94 and (found.shares < 0.5).mean() > 0.008


def test_a_limit_of_the_mean_alone_is_caught() -> None:
    """Planted: the mean lies inside for certain, so hits pass of which a quarter of the draws leave."""

    def mean_inside(margins: Sequence[float], is_inside: bool, most: int) -> bool | None:
        n, spread = len(margins), float(np.std(margins, ddof=1)) if len(margins) > 1 else math.inf
        is_sure = float(np.mean(margins)) > 2.0 * spread / math.sqrt(n)
        return True if is_sure and is_inside else False if n == most else None

    assert searched(mean_inside).shares.mean() < 0.95


def test_what_a_model_of_much_noise_finds_stays() -> None:
    """The Relation Network's at preset `fast`. Planted bug: the noise that is presumed is the shipped model's."""
    found, too_little = (
        searched(partial(presuming, presumed), deviation=0.9) for presumed in (PRIOR_DEVIATION, 0.3)
    )
    assert found.shares.mean() > 0.955 and (found.shares < 0.5).mean() < 0.005
    assert too_little.shares.mean() < 0.94 and (too_little.shares < 0.5).mean() > 0.001


def test_little_noise_costs_few_draws_and_loses_no_hit() -> None:
    """As at preset `reference`: what lies close inside the edge stays there."""
    found = searched(stays, deviation=0.1)
    assert found.shares.mean() > 0.99 and found.of_clear > 0.97 and found.used < 7


def test_two_draws_alike_by_chance_decide_nothing_near_the_edge() -> None:
    """Planted bug: Student's interval of two equal draws is a point."""
    assert stays([0.1, 0.1], True, MOST) is None
    assert stays([0.95, 0.95], True, MOST, presumed=0.3) is True  # as runs that presumed less did
    assert stays([0.95, 0.95], True, MOST) is None and stays([0.95] * 4, True, MOST) is True
    assert stays([-3.0, -3.0], False, MOST) is False


def test_what_lies_at_neither_side_after_all_draws_does_not_stay() -> None:
    assert stays([0.3, 0.3, 0.3, -0.2] * 2, True, MOST) is False
    assert stays([0.3, 0.3, 0.3, -0.2], True, MOST) is None
    assert stays([0.3, -0.2], True, MOST) is False


def test_a_hit_that_is_outside_half_the_time_is_given_up_and_few_clear_ones_with_it() -> None:
    """Planted bugs: all draws are made of it, or one draw outside gives any hit up."""

    def patient(margins: Sequence[float], is_inside: bool, most: int) -> bool | None:
        stay = stays(margins, is_inside, most)
        return None if stay is False and len(margins) < most else stay

    def strict(margins: Sequence[float], is_inside: bool, most: int) -> bool | None:
        return False if min(margins) < 0 else stays(margins, is_inside, most)

    right, slow, hasty = (searched(rule) for rule in (stays, patient, strict))
    assert right.used < 5.5 < slow.used
    assert slow.of_clear - right.of_clear < 0.005 < slow.of_clear - hasty.of_clear
    assert abs(right.shares.mean() - slow.shares.mean()) < 0.002


@pytest.mark.parametrize("most", range(1, LEAST_DRAWS))
def test_few_draws_are_taken_as_they_are(most: int) -> None:
    assert stays([0.05] * most, True, most) is True
    assert stays([-0.05] * most, False, most) is False
    if most > 1:
        assert stays([2.0] * (most - 1), True, most) is None
