"""The figures of a finding, worked out by hand, and which families the held-out scenes confirm."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from tests.trex.auditing.test_by_kind import FACTS, SCENE, counts
from tests.trex.auditing.test_probe import BACK, SMALL
from trex.auditing.judging.findings import (
    HeldOut,
    covered,
    covered_by_confirmed,
    findings,
    in_held_out,
    more_than_elsewhere,
    significant,
)
from trex.auditing.judging.sought import FEW, Sought
from trex.auditing.rare.steps import SOUGHT_IN_SPARSE
from trex.auditing.records import Examined, Tested, Variants
from trex.families.family import Family
from trex.families.symptom import Symptom
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.discoveries import discoveries, excess_p_value
from trex.inference.statistics.proportion import Interval, clopper_pearson

ROW = (FACTS, Examined(0, (), (), (), (), ()), [0])
SEEN = HeldOut(BACK, (1.0,) * 8 + (0.0,) * 2, ((0, 1),) * 20, (ROW,) * 8)
OWNERS: list[list[set[int]]] = [[] for _ in range(20)]


def asked_again(stays: bool, confidence: float, noise: float | None = None, family: int = 0) -> Tested:
    return Tested(family, 0, stays, confidence, "", "", "", "", Variants(noise=noise))


def test_the_figures_of_a_finding_are_worked_out_by_hand() -> None:
    """8 of 10 scenes under the conditions fail, of 20 held out; 3 of 4 asked again stay.

    Planted bug: the sentence on how much of it fails leaves out that a quarter of the failures does not stay.
    """
    row = (FACTS, Examined(0, (), (), (), (), ()), [0])
    seen = HeldOut(BACK, (1.0,) * 8 + (0.0,) * 2, ((0, 1),) * 20, (row,) * 8)
    rare = HeldOut(SMALL, (1.0,) * 7 + (0.0,) * 2, ((0, 1),) * 20, (row,) * 7)
    rows = [
        asked_again(True, 0.9, 1.0),
        asked_again(True, 0.95, 0.5),
        asked_again(True, 1.0),
        asked_again(False, 0.2),
    ]
    rows += [asked_again(True, 0.9, family=1)]
    memberships = [[{0}] * 2, [{1}, set()], *([[]] * 18)]
    first, second = findings([seen, rare], rows, memberships, {"missed": 3.0})
    finding, other = (first, second) if first.number == 0 else (second, first)
    assert counts(other.covers) == (1, 4)
    assert (counts(finding.holds), counts(finding.fails), counts(finding.stays), counts(finding.covers)) == (
        (10, 20),
        (8, 10),
        (3, 4),
        (2, 4),
    )
    assert finding.rate == pytest.approx(8 / 20 * 3 / 4)
    fails, stays = clopper_pearson(8, 20, 0.975), clopper_pearson(3, 4, 0.975)
    assert finding.rate_interval == pytest.approx((fails.low * stays.low, fails.high * stays.high))
    share = "80.0% of scenes with such an object (8 of 10; 95% CI 44.4–97.5%)"
    assert finding.extent == f"It does so in {share}; 3 of 4 failures stay when rendered again."
    assert finding.confidence == pytest.approx(0.95) and finding.survives == {"noise": (0.75, 2)}
    assert finding.p_value == pytest.approx(excess_p_value(8.0, 10, (1.0, 20.0)))
    assert (
        first.harm > second.harm == finding.harm == pytest.approx(3 * finding.rate * 0.95)
    )  # 7/20 of .9 is more


def failing_in(scenes: range, family: Family = BACK) -> HeldOut:
    """A family whose conditions hold in twice as many scenes as these, in which one object fails."""
    failures = tuple((FACTS, Examined(k, (), (), (), (), ()), [0]) for k in scenes)
    return HeldOut(family, (1.0,) * len(failures) + (0.0,) * len(failures), ((0, 1),) * 60, failures)


def grouped_of(*items: HeldOut) -> list[tuple[int, int | None]]:
    """The findings in order, each with the one that it is told with; everything asked about again stays."""
    rows = [asked_again(True, 0.9, family=k) for k in range(len(items)) for _ in range(4)]
    rows = [replace(row, scene=items[row.family].failures[0][1].scene) for row in rows]
    found = findings(items, rows, [[] for _ in range(60)], {})
    return [(finding.number, finding.within) for finding in found]


def test_families_that_share_their_failures_are_told_as_one() -> None:
    """Planted bugs: the share was one of the larger family's failures; or families that are told with others count."""
    assert grouped_of(failing_in(range(20)), failing_in(range(17, 29))) == [(0, None), (1, 0)], "3 of 12"
    assert grouped_of(failing_in(range(20)), failing_in(range(18, 29))) == [(0, None), (1, None)], "2 of 11"
    chain = (failing_in(range(20)), failing_in(range(14, 28)), failing_in(range(22, 34)))
    assert grouped_of(*chain) == [(0, None), (1, 0), (2, None)], (
        "half of the second's, and nothing of the first's"
    )
    assert grouped_of(failing_in(range(20)), failing_in(range(20), SMALL)) == [(0, None), (1, 0)]
    other = replace(SMALL, symptom=Symptom("object", "color"))
    assert grouped_of(failing_in(range(20)), failing_in(range(20), other)) == [(0, None), (1, None)]


def test_of_families_that_share_their_failures_that_is_told_which_says_more() -> None:
    """A rule that holds in 40 of 60 scenes and fails in 20 of them, and one that is always right. Planted bug: the more
    harmful one, which is always the wider, told first that half of such scenes fail."""
    wide = failing_in(range(20))
    sharp, little = (replace(failing_in(range(n)), inside=(1.0,) * n) for n in (12, 6))
    assert grouped_of(wide, sharp) == [(0, 1), (1, None)]
    assert grouped_of(wide, little) == [(0, None), (1, 0)], "right in all, but it holds too little"


def test_a_family_that_is_not_confirmed_is_told_with_no_other() -> None:
    weak = replace(failing_in(range(12)), outside=((1, 1),) * 60)
    assert grouped_of(failing_in(range(20)), weak) == [(0, None), (1, None)]
    assert grouped_of(weak, failing_in(range(3, 12))) == [(1, None), (0, None)]


def test_the_interval_of_a_coverage_takes_pictures_as_clusters() -> None:
    found = covered([[{0}] * 5, [set()] * 5] * 4, {0})
    assert counts(found) == (20, 40) and found.interval == clustered_interval([5, 0] * 4, [5] * 8)
    assert found.interval.low < clopper_pearson(20, 40).low


def test_a_family_without_a_failure_that_stays_is_not_confirmed() -> None:
    """Planted bug: more frequent under the conditions was enough, though the deciding look shows nothing of it."""
    assert significant([SEEN]) == {0}
    (lost,) = findings([SEEN], [asked_again(False, 0.2)] * 4, OWNERS, {})
    (kept,) = findings([SEEN], [asked_again(False, 0.2)] * 3 + [asked_again(True, 0.95)], OWNERS, {})
    assert not lost.is_confirmed and lost.rate == 0.0 and kept.is_confirmed
    (unasked,) = findings([SEEN], [], OWNERS, {})
    assert not unasked.is_confirmed and unasked.rate == 0.0 and unasked.rate_interval.high > 0.3


def test_a_family_that_fails_as_often_elsewhere_is_not_confirmed() -> None:
    """Planted bug: a failure that stays was enough."""
    everywhere = HeldOut(BACK, SEEN.inside, ((1, 1),) * 16 + ((0, 1),) * 4, SEEN.failures)
    (found,) = findings([everywhere], [asked_again(True, 0.99)] * 4, OWNERS, {})
    assert not found.is_confirmed and found.stays.count == 4


@pytest.mark.parametrize("chance", [1 / 2, 1 / 8, 1 / 48])
@pytest.mark.parametrize("fails", ["crowded", "sparse"])
def test_failures_that_depend_on_the_number_of_objects_alone_confirm_no_condition(
    fails: str, chance: float
) -> None:
    """An attribute that means nothing is more often found in crowded scenes. Planted bugs: of the other units the mean
    over scenes alone was taken, too small if crowded scenes fail; that over units alone, too small if sparse ones do.
    """
    n, named = 300, 0
    rng = np.random.default_rng(1)
    for _ in range(n):
        inside, outside = [], []
        for k in rng.integers(3, 11, 1000):
            failed = rng.random(k) < (0.4 if k == (10 if fails == "crowded" else 3) else 0.0)
            meets = rng.random(k) < chance
            if meets.any():
                inside.append(float(failed[meets].mean()))
            if not meets.all():
                outside.append((int(failed[~meets].sum()), int((~meets).sum())))
        named += more_than_elsewhere(inside, outside) <= 0.05
    assert named <= binom.ppf(1 - 1e-5, n, 0.05)


def test_shares_are_of_the_units_of_each_scene_in_and_outside_of_the_conditions() -> None:
    """One of 4 units under the conditions fails, and one of the 6 others. Planted bugs: whether any fails; failures
    under the conditions counted with the others; scenes without such units counted as ones without a failure.
    """
    namespace = SimpleNamespace(
        failing=lambda family: ([2], 4, 10), everywhere=lambda family: [2, 7], facts=FACTS, examined=ROW[1]
    )
    none_inside = SimpleNamespace(failing=lambda family: ([], 0, 5), everywhere=lambda family: [1])
    none_outside = SimpleNamespace(
        failing=lambda family: ([0, 1], 2, 2), everywhere=lambda family: [0, 1], facts=FACTS, examined=ROW[1]
    )
    (seen,) = in_held_out([BACK], [namespace, none_inside, none_outside])  # type: ignore[list-item]
    np.testing.assert_allclose(seen.inside, (1 / 4, 1.0))
    assert seen.outside == ((1, 6), (1, 5))
    assert [failed for _, _, failed in seen.failures] == [[2], [0, 1]]


def test_a_mistake_of_any_chosen_family_is_covered_once() -> None:
    """Planted bugs: it had to belong to all of them; one that belongs to two counted twice."""
    memberships: list[list[set[int]]] = [[{0}, {1}, {0, 1}, {2}, set()], [], [{1}]]
    assert counts(covered(memberships, {0, 1})) == (4, 6)
    assert counts(covered(memberships, {1})) == (3, 6) and counts(covered(memberships, set())) == (0, 6)


FINDING = 1666  # pictures that a fault of 0.03% took to be found (reproduce/LOG.md)
DRAWN = 1000 * SOUGHT_IN_SPARSE  # scenes that are drawn and not rendered; 1000 are held out
HOLDS, MODES, STAYS = 1e-4 / 0.9 / 0.135, ((0.1, 0.9), (0.9, 0.05)), 0.9  # the rate is 1e-4
RATE = HOLDS * sum(share * fails for share, fails in MODES) * STAYS


def rare_family(seed: int, modes: tuple[tuple[float, float], ...]) -> tuple[Interval, int]:
    """The stated interval of a family whose conditions few scenes meet, and the pictures that took.

    Of the scenes under the conditions a share of each mode fails with its own chance.
    """
    rng = np.random.default_rng(seed)
    places = np.cumsum(rng.geometric(HOLDS, FEW))
    n = int(np.sum(places <= DRAWN))
    sought = Sought(((0, SCENE),) * n, int(places[-1]) if n == FEW else DRAWN, is_full=n == FEW)
    chances = np.array([fails for _, fails in modes])
    fails = rng.random(n) < rng.choice(chances, n, p=[share for share, _ in modes])
    failing = np.flatnonzero(fails).tolist()
    failures = tuple((FACTS, Examined(k, (), (), (), (), ()), [0]) for k in failing)
    rows = [replace(asked_again(bool(rng.random() < STAYS), 0.95), scene=k) for k in failing]
    held_out = HeldOut(BACK, tuple(fails.astype(float)), ((0, 1),) * 2000, failures, sought=sought)
    (found,) = findings([held_out], rows, OWNERS, {})
    return found.rate_interval, n + len(rows)


def test_a_rate_of_one_in_ten_thousand_takes_less_than_half_of_the_pictures_of_plain_draws() -> None:
    """A tenth of the scenes under the conditions fails mostly, the rest seldom: two separate kinds of scenes.

    The interval holds the rate in at least 184 of 200 audits. Plain draws, twice as many pictures as judging this
    family and finding one three times as frequent took, give a wider one. Planted bug: scenes like those that were
    found judge the family.
    """
    stated = [rare_family(seed, MODES) for seed in range(200)]
    assert sum(low <= RATE <= high for (low, high), _ in stated) >= 184
    width = np.median([high - low for (low, high), _ in stated])
    pictures = 2 * (FINDING + max(n for _, n in stated))
    plain = [
        clopper_pearson(int(k), pictures) for k in np.random.default_rng(1).binomial(pictures, RATE, 200)
    ]
    assert np.median([high - low for low, high in plain]) > width
    alike = [rare_family(seed, ((1.0, MODES[0][1]),))[0] for seed in range(200)]
    assert sum(low <= RATE <= high for low, high in alike) < 184


def stated_and_true(seed: int) -> list[tuple[Interval, Interval, float, float]]:
    """Of one simulated audit's confirmed families: the intervals of the share that fails and of its rate, and both.

    Ten families whose conditions 20 to 60 of 600 scenes meet; of three 3% to 10% of these fail, else 2% as elsewhere.
    """
    rng = np.random.default_rng(seed)
    chances, n = np.exp(rng.uniform(np.log(0.03), np.log(0.1), 10)), rng.integers(20, 61, 10)
    chances[3:] = 0.02
    elsewhere = ((1, 1),) * 11 + ((0, 1),) * 539
    held_out, rows = list[HeldOut](), list[Tested]()
    for k in range(10):
        failed = rng.random(n[k]) < chances[k]
        failing = np.flatnonzero(failed).tolist()
        failures = tuple((FACTS, Examined(scene, (), (), (), (), ()), [0]) for scene in failing)
        held_out.append(HeldOut(BACK, tuple(failed.astype(float)), elsewhere, failures))
        rows += [replace(asked_again(True, 0.95, family=k), scene=scene) for scene in failing]
    found = findings(held_out, rows, [[] for _ in range(600)], {})
    return [
        (each.fails.interval, each.rate_interval, chance, chance * n[each.number] / 600)
        for each in found
        if each.is_confirmed and (chance := float(chances[each.number]))
    ]


def test_what_is_stated_of_confirmed_families_holds_although_their_failures_have_confirmed_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: intervals of 95%, of which 15% and more miss the share, as few failures confirm one by luck."""

    def missed(end: int) -> float:
        rows = [row for seed in range(200) for row in stated_and_true(seed)]
        assert len(rows) > 50
        return float(np.mean([not row[end].low <= row[2 + end] <= row[end].high for row in rows]))

    assert missed(0) < 0.05 and missed(1) < 0.05
    monkeypatch.setattr("trex.auditing.judging.findings.level_of_chosen", lambda chosen, of: 0.95)
    assert missed(0) > 0.1


def test_how_often_conditions_hold_has_no_bias_where_drawing_ended_with_a_scene_that_meets_them() -> None:
    """Planted bug: 20 of N, which is 5% too much in the mean."""
    drawn = np.random.default_rng(0).geometric(0.01, (4000, FEW)).sum(axis=1)
    values = [Sought(((0, SCENE),) * FEW, int(n), is_full=True).value for n in drawn]
    assert np.mean(values) == pytest.approx(0.01, rel=0.015) != pytest.approx(np.mean(FEW / drawn), rel=0.015)
    assert Sought(((0, SCENE),) * 3, 100, is_full=False).value == 0.03


def test_what_confirmed_families_hold_allows_for_their_choice_by_the_same_mistakes() -> None:
    """Ten families: 6% of the scenes under their conditions fail, and 2% of others. Those that are confirmed failed
    more often than usual. Planted bug: an interval of 95%, the lower end of which is too high in every third audit."""
    rng, n, weak, too_high, with_bug, audits = np.random.default_rng(4), 60, 0.06, 0, 0, 0
    for _ in range(150):
        failing = rng.binomial(n, weak, 10)
        p_values = [excess_p_value(float(k), n, (12.0, 539.0)) for k in failing]
        chosen = {int(k) for k in np.flatnonzero(discoveries(np.array(p_values)))}
        others = int(rng.binomial(600, 0.05))
        memberships = [[{k}] for k, count in enumerate(failing) for _ in range(count)] + [[set()]] * others
        if chosen:
            audits += 1
            truth = len(chosen) * n * weak / (10 * n * weak + 600 * 0.05)
            too_high += covered_by_confirmed(memberships, chosen, 10).interval.low > truth
            with_bug += covered(memberships, chosen).interval.low > truth
    assert audits > 20 and too_high <= 0.05 * audits and with_bug > 0.25 * audits
    assert covered_by_confirmed([[{0}]], {0}, 1) == covered([[{0}]], {0})
