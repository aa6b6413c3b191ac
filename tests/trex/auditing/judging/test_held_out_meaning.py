"""The held-out scenes and a family: shares of units, mistakes of any chosen family, and a failure that stays."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tests.trex.auditing.judging.test_findings import asked_again, counts
from tests.trex.auditing.judging.test_not_found import FACTS
from tests.trex.auditing.judging.test_probe import BACK
from trex.auditing.judging.findings import HeldOut, covered, findings, in_held_out, significant
from trex.auditing.sweeping.records import Examined

ROW = (FACTS, Examined(0, (), (), (), (), ()), [0])
SEEN = HeldOut(BACK, (1.0,) * 8 + (0.0,) * 2, (0.0,) * 20, (ROW,) * 8)
OWNERS: list[list[set[int]]] = [[] for _ in range(20)]


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
    everywhere = HeldOut(BACK, SEEN.inside, (1.0,) * 16 + (0.0,) * 4, SEEN.failures)
    (found,) = findings([everywhere], [asked_again(True, 0.99)] * 4, OWNERS, {})
    assert not found.is_confirmed and found.stays.count == 4


def test_shares_are_of_the_units_of_each_scene_in_and_outside_of_the_conditions() -> None:
    """One of 4 units under the conditions fails, and one of the 6 others. Planted bugs: whether any fails; failures
    under the conditions counted with the others; scenes without such units counted as ones without a failure.
    """
    one = SimpleNamespace(
        failing=lambda family: ([2], 4, 10), everywhere=lambda family: [2, 7], facts=FACTS, examined=ROW[1]
    )
    none_inside = SimpleNamespace(failing=lambda family: ([], 0, 5), everywhere=lambda family: [1])
    none_outside = SimpleNamespace(
        failing=lambda family: ([0, 1], 2, 2), everywhere=lambda family: [0, 1], facts=FACTS, examined=ROW[1]
    )
    (seen,) = in_held_out([BACK], [one, none_inside, none_outside])  # type: ignore[list-item]
    np.testing.assert_allclose(seen.inside, (1 / 4, 1.0))
    np.testing.assert_allclose(seen.outside, (1 / 6, 1 / 5))
    assert [failed for _, _, failed in seen.failures] == [[2], [0, 1]]


def test_a_mistake_of_any_chosen_family_is_covered_once() -> None:
    """Planted bugs: it had to belong to all of them; one that belongs to two counted twice."""
    memberships: list[list[set[int]]] = [[{0}, {1}, {0, 1}, {2}, set()], [], [{1}]]
    assert counts(covered(memberships, {0, 1})) == (4, 6)
    assert counts(covered(memberships, {1})) == (3, 6) and counts(covered(memberships, set())) == (0, 6)
