"""Targets: modes, log space, hits, words, and the wrong input that each refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from trex.foundation.errors import InputError
from trex.inference.targets import (
    GaussianTarget,
    distance_target,
    graded,
    high_confidence,
    k_way,
    probability_vector,
    threshold,
    uniform,
)
from trex.inference.types import Floats

LABELS = ("0", "1", "2", "3", "4")
EVERY = [
    pytest.param(high_confidence(LABELS, "1"), {"1": 1.0}, id="high-confidence"),
    pytest.param(high_confidence(LABELS, "1", level=0.7), {"1": 0.7, "2": 0.3}, id="level"),
    pytest.param(threshold(LABELS, "1", delta=0.2), {"1": 0.9, "2": 0.1}, id="threshold"),
    pytest.param(k_way(LABELS, ("1", "3")), {"1": 0.5, "3": 0.5}, id="ambiguous-pair"),
    pytest.param(k_way(LABELS, ("1", "3", "4")), {"1": 1 / 3, "3": 1 / 3, "4": 1 / 3}, id="k-way"),
    pytest.param(uniform(LABELS), dict.fromkeys(LABELS, 0.2), id="uniform"),
    pytest.param(graded(LABELS, "1", "2", 0.3), {"1": 0.3, "2": 0.7}, id="graded"),
    pytest.param(
        probability_vector(LABELS, {"0": 0.1, "1": 0.2, "4": 0.7}), {"0": 0.1, "1": 0.2, "4": 0.7}, id="any"
    ),
    pytest.param(distance_target(high_confidence(LABELS, "1"), 3.0), {"1": 0.9, "0": 0.1}, id="within"),
]
probabilities = st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5).filter(lambda p: sum(p) > 0.1)


def logs(probs: dict[str, float]) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(np.array([probs.get(label, 0.0) for label in LABELS]))


@pytest.mark.parametrize(("target", "mode"), EVERY)
def test_the_mode_is_where_it_should_be(target: GaussianTarget, mode: dict[str, float]) -> None:
    assert target.log_weight(logs(mode)) == pytest.approx(target.log_peak)
    assert target.is_hit(logs(mode))
    assert not target.is_hit(logs({"0": 0.05, "2": 0.95}))


@pytest.mark.parametrize(("target", "mode"), EVERY)
@given(raw=probabilities)
@settings(max_examples=25)
def test_no_weight_exceeds_the_peak(target: GaussianTarget, mode: dict[str, float], raw: list[float]) -> None:
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array(raw) / sum(raw))
    assert target.log_weight(log_probs) <= target.log_peak + 1e-12
    assert 0.0 <= target.confidence(log_probs) <= 1.0 + 1e-12


@pytest.mark.parametrize(("target", "mode"), EVERY)
def test_the_weight_is_the_normal_density(target: GaussianTarget, mode: dict[str, float]) -> None:
    log_probs = logs({"0": 0.3, "1": 0.5, "2": 0.2})
    values = target.statistic(np.exp(log_probs))
    expected = stats.norm.logpdf(target.observed, values, target.width).sum()
    assert target.log_weight(log_probs) == pytest.approx(expected)


@pytest.mark.parametrize(("target", "mode"), EVERY)
def test_a_target_simulates_its_own_observation(target: GaussianTarget, mode: dict[str, float]) -> None:
    rng = np.random.default_rng(11)
    log_probs = logs({"0": 0.3, "1": 0.5, "2": 0.2})
    drawn = np.array([target.simulate(rng, log_probs).observed for _ in range(2_000)])
    gaps = (drawn - target.statistic(np.exp(log_probs))) / np.array(target.width)
    assert stats.kstest(gaps.ravel(), "norm").pvalue > 1e-5
    assert stats.kstest(1.3 * gaps.ravel(), "norm").pvalue < 1e-5  # negative control: a wrong width


@pytest.mark.parametrize("width", [0.05, 1e-3, 1e-6, 1e-9])
def test_small_widths_and_zero_probabilities_stay_finite(width: float) -> None:
    target = high_confidence(LABELS, "1", width=width)
    far, near = target.log_weight(logs({"0": 1.0})), target.log_weight(logs({"0": 0.5, "1": 0.5}))
    assert math.isfinite(far) and math.isfinite(near) and near > far
    pair = k_way(LABELS, ("1", "2"), width=width)
    assert pair.log_weight(logs({"1": 0.5, "2": 0.5})) == pytest.approx(pair.log_peak)
    assert pair.log_weight(logs({"0": 1.0})) < pair.log_weight(logs({"0": 0.5, "1": 0.5}))


def test_all_of_the_level_set_of_a_threshold_weighs_the_same() -> None:
    target = threshold(LABELS, "1", delta=0.1, width=0.02)
    inside = [target.log_weight(logs({"1": p, "0": 1 - p})) for p in (0.9, 0.95, 1.0)]
    assert max(inside) - min(inside) < 1e-9
    below = target.log_weight(logs({"1": 0.86, "0": 0.14}))
    assert below == pytest.approx(target.log_peak - 2.0)  # two widths below the edge
    assert [target.is_hit(logs({"1": p, "0": 1 - p})) for p in (0.9, 0.899)] == [True, False]
    level = high_confidence(LABELS, "1", width=0.02)  # negative control: the level target prefers its far end
    assert level.log_weight(logs({"1": 1.0})) - level.log_weight(logs({"1": 0.9, "0": 0.1})) > 10.0


def test_a_hit_lies_within_two_widths_unless_said_otherwise() -> None:
    usual, wide = high_confidence(LABELS, "1"), high_confidence(LABELS, "1", tolerance=0.3)
    assert [usual.is_hit(logs({"1": p, "0": 1 - p})) for p in (0.9, 0.89)] == [True, False]
    assert [wide.is_hit(logs({"1": p, "0": 1 - p})) for p in (0.7, 0.69)] == [True, False]


@pytest.mark.parametrize(("target", "mode"), EVERY)
def test_targets_say_what_they_are(target: GaussianTarget, mode: dict[str, float]) -> None:
    words = target.describe()
    assert "width" in words and "hit" in words


def test_the_words_name_the_numbers() -> None:
    assert high_confidence(LABELS, "1").describe() == "P(1), observed at 1, width 0.05; a hit is within 0.1"
    assert high_confidence(LABELS, "1").hit_words == "P(1) within 0.1 of 1"
    assert threshold(LABELS, "1", delta=0.4).hit_words == "P(1) of at least 0.6"
    assert k_way(LABELS, ("1", "2")).hit_words.endswith(" within 0.1 of 0, 0.5")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: high_confidence(LABELS, "11"), "answer '11' is not known"),
        (lambda: high_confidence(LABELS, "1", width=0.0), "width"),
        (lambda: high_confidence(LABELS, "1", width=math.nan), "width"),
        (lambda: high_confidence(LABELS, "1", tolerance=-0.1), "tolerance"),
        (lambda: threshold(LABELS, "1", delta=1.0), "delta"),
        (lambda: k_way(LABELS, ("1", "1")), "not distinct"),
        (lambda: k_way(LABELS, ("1",)), "at least two"),
        (lambda: uniform(("1",)), "at least two"),
        (lambda: graded(LABELS, "1", "2", 1.2), "level"),
        (lambda: probability_vector(LABELS, {"1": 0.5}), "sum to 0.5"),
        (lambda: probability_vector(LABELS, {"1": 1.5, "2": -0.5}), "not a probability"),
        (lambda: distance_target(high_confidence(LABELS, "1"), -1.0), "radius"),
    ],
)
def test_wrong_targets_are_refused_in_words(make: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()  # type: ignore[operator]


def test_the_margin_of_a_level_set_is_that_of_its_worst_part() -> None:
    """Planted bug: that of the best. Two equal probabilities that a third one exceeds are torn between nothing."""
    target = k_way(("a", "b", "c"), ("a", "b"))
    inside, outside = np.log([0.49, 0.49, 0.02]), np.log([0.3, 0.3, 0.4])
    assert target.is_hit(inside) and 0.0 < target.margin(inside) < 1.0
    assert not target.is_hit(outside) and target.margin(outside) < 0.0
