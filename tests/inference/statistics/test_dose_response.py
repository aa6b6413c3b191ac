"""Bands and thresholds of dose curves: they hold together as often as they say, and planted bugs do not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from trex.inference.statistics import dose_response
from trex.inference.statistics.dose_response import Threshold, shows_a_side, simultaneous_band, threshold_of
from trex.inference.statistics.proportion import Interval, clopper_pearson

DOSES = tuple(k / 10 for k in range(11))
REPEATS = 300
Floats = NDArray[np.float64]
Band = Callable[[Floats], Sequence[Interval]]  # of the shares of (scenes, doses)


@pytest.fixture(autouse=True)
def each_interval_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same few counts come again and again."""
    once = cache(clopper_pearson)
    monkeypatch.setattr(dose_response, "clopper_pearson", once)
    monkeypatch.setattr(sys.modules[__name__], "clopper_pearson", once)


class Planted(NamedTuple):
    """Scenes with soft curves of their own: P(wrong) falls around a dose that differs from scene to scene."""

    scenes: int
    draws: int
    softness: float = 0.03
    spread: float = 0.25

    def chances(self, rng: np.random.Generator, n: int) -> Floats:
        """(n, doses): the chance of each of n scenes to be wrong at each dose."""
        middle = 0.55 + self.spread * rng.standard_normal((n, 1))
        found: Floats = 1.0 / (1.0 + np.exp((np.array(DOSES) - middle) / self.softness))
        return found

    def shares(self, rng: np.random.Generator) -> Floats:
        """(scenes, doses): the mean of each scene's noise draws."""
        found: Floats = rng.binomial(self.draws, self.chances(rng, self.scenes)) / self.draws
        return found

    @property
    def truth(self) -> Floats:
        """(doses,): the mean chance."""
        found: Floats = self.chances(np.random.default_rng(0), 50_000).mean(axis=0)
        return found


def band(shares: Floats) -> Sequence[Interval]:
    return simultaneous_band(shares.sum(axis=0).tolist(), [len(shares)] * shares.shape[1])


def pointwise(shares: Floats) -> Sequence[Interval]:
    """A planted bug: each interval holds by itself."""
    return [clopper_pearson(total, len(shares)) for total in shares.sum(axis=0)]


def of_draws(draws: int) -> Band:
    """A planted bug: the draws of one scene are taken as independent of each other."""

    def made(shares: Floats) -> Sequence[Interval]:
        n = draws * len(shares)
        return simultaneous_band((draws * shares.sum(axis=0)).tolist(), [n] * shares.shape[1])

    return made


def coverage(planted: Planted, made: Band, seed: int = 1) -> float:
    """How often the band holds the true share at every dose."""
    rng, truth = np.random.default_rng(seed), planted.truth
    held = 0
    for _ in range(REPEATS):
        found = made(planted.shares(rng))
        held += all(low <= p <= high for (low, high), p in zip(found, truth, strict=True))
    return held / REPEATS


WORLDS = [Planted(20, 1), Planted(12, 5), Planted(40, 3), Planted(8, 10, softness=0.2)]


@pytest.mark.parametrize("planted", WORLDS, ids=str)
def test_the_band_holds_at_all_doses_together(planted: Planted) -> None:
    assert coverage(planted, band) >= 0.95


def test_intervals_that_hold_one_by_one_are_noticed() -> None:
    """Over scenes whose values at two doses have little in common, as with little noise but many middles."""
    assert coverage(Planted(40, 1, softness=0.3), pointwise) < 0.93


def test_draws_of_a_scene_taken_as_independent_are_noticed() -> None:
    planted = Planted(20, 5)
    assert coverage(planted, of_draws(planted.draws)) < 0.8


@pytest.mark.parametrize("planted", WORLDS, ids=str)
def test_the_thresholds_interval_holds_the_crossing(planted: Planted) -> None:
    """The true shares cross one half at .55, which no dose is."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(REPEATS):
        found = threshold(planted.shares(rng))
        held += (found.up_to is None or (found.low == 1 and found.up_to < 0.55)) and (
            found.since is None or (found.high == -1 and found.since > 0.55)
        )
    assert held / REPEATS >= 0.95


def threshold(shares: Floats) -> Threshold:
    return threshold_of(DOSES, shares.sum(axis=0).tolist(), [len(shares)] * shares.shape[1])


def test_a_step_is_found_between_its_doses() -> None:
    found = threshold_of(DOSES, [9, 9, 9, 9, 9, 9, 4, 0, 0, 0, 0], [9] * 11)
    assert (found.low, found.high, found.up_to, found.since) == (1, -1, 0.5, 0.7)
    assert found.is_crossed
    assert found.value == pytest.approx(0.59, abs=0.005)
    rising = threshold_of(DOSES, [0, 0, 0, 0, 0, 0, 5, 9, 9, 9, 9], [9] * 11)
    assert (rising.low, rising.high, rising.up_to, rising.since) == (-1, 1, 0.5, 0.7)


def test_what_holds_at_every_dose_is_said_only_if_it_is_shown() -> None:
    """Seven scenes are enough, six are not: (1/80)^(1/7) = .535, (1/80)^(1/6) = .482."""
    assert threshold_of(DOSES, [7] * 11, [7] * 11).side_throughout == 1
    assert threshold_of(DOSES, [0] * 11, [7] * 11).side_throughout == -1
    assert threshold_of(DOSES, [6] * 11, [6] * 11) == Threshold(0, 0, None, None, None)
    assert shows_a_side(7) and not shows_a_side(6) and not shows_a_side(0)
    once = threshold_of(DOSES, [7] * 5 + [4] + [7] * 5, [7] * 11)
    assert (once.side_throughout, once.up_to, once.since) == (0, 0.4, 0.6)


def test_a_hump_has_a_last_crossing_and_no_single_threshold() -> None:
    """An object that is hidden is not misread: right at both ends, wrong between."""
    found = threshold_of(DOSES, [0, 0, 9, 9, 9, 9, 9, 0, 0, 0, 0], [9] * 11)
    assert (found.low, found.high, found.is_crossed, found.side_throughout) == (-1, -1, False, 0)
    assert (found.up_to, found.since) == (0.1, 0.7)
    assert found.value == pytest.approx(0.65)


def test_a_dose_that_no_scene_reaches_shows_nothing() -> None:
    assert simultaneous_band([0.0, 3.0], [0, 3])[0] == (0.0, 1.0)
    found = threshold_of((0.0, 1.0, 2.0), [0.0, 9.0, 0.0], [0, 9, 9])
    assert (found.low, found.up_to, found.high, found.since) == (0, None, -1, 2.0)
    assert threshold_of((), [], []) == Threshold(0, 0, None, None, None)
