"""Confident mistakes before and after adaptation: counts on made tables, and the sentence that they come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from reproduce.adaptation.calibration import expected_calibration_error, mean_interval
from reproduce.adaptation.compare import Comparison, committee_truth, compare
from reproduce.adaptation.measures import DIGITS, NO_DIGIT, Answers, Contrast, Floats
from reproduce.adaptation.options import CompareOptions
from reproduce.adaptation.table import _digits, comparison_json, markdown, sentence, verdict
from tests.references.statistics import ALPHA
from tests.reproduce.command_line import reproduce, reproduced
from tests.running.command_line import refused
from tests.worlds.mnist_worlds import N_TEST, write_data
from trex.foundation.errors import InputError

SAME = "mnist-classifier:mnist-classifier"


def rows(digits: list[int], confidence: list[float]) -> Floats:
    """Log probabilities: the confidence on each digit, the rest spread evenly."""
    probs = np.repeat((1.0 - np.array(confidence))[:, None] / (DIGITS - 1), DIGITS, axis=1)
    probs[np.arange(len(digits)), digits] = confidence
    return np.log(probs)


def answers(digits: list[int], confidence: list[float], truth: list[int]) -> Answers:
    return Answers(rows(digits, confidence), np.array(truth))


def network(n_wrong: int, n_right: int = 90, wrong_as: int = 1, n_first: int = 0) -> Answers:
    """Sure of every picture of a 0; calls those from `n_first` on another digit."""
    n = n_right + n_wrong
    digits = np.zeros(n, int)
    digits[n_first : n_first + n_wrong] = wrong_as
    return answers(digits.tolist(), [0.99] * n, [0] * n)


def test_sure_and_wrong_are_counted_at_nine_tenths() -> None:
    found = answers([0, 1, 2, 3, 4], [0.95, 0.95, 0.9, 0.89, 0.99], [0, 0, 2, 0, NO_DIGIT])
    assert found.accuracy.count == 2 and found.accuracy.of == 5
    assert (found.sure_wrong.count, found.sure_wrong.of) == (2, 4)  # a picture of no digit is a mistake
    assert found.is_sure_and_wrong.tolist() == [False, True, False, False, True]
    assert found.confusion.sum() == 4 and found.confusion[0, 1] == found.confusion[0, 3] == 1
    assert found.sure_of(1).value == 0.0 and found.sure_of(2).value == 1.0 and found.sure_of(7).of == 0
    assert found.swapped == (1, 4)
    left = found.without(found.swapped)
    assert (left.sure_wrong.count, left.sure_wrong.of) == (0, 2)
    with pytest.raises(InputError, match="not of 4 pictures"):
        Answers(found.log_probs, found.truth[:4])


def test_only_the_first_of_the_sure_answers_count_if_asked_so() -> None:
    found = answers([5] * 4, [0.99] * 4, [5, 5, 0, 0])
    assert found.sure_of(5, 2).value == 1.0 and found.sure_of(5, 3).count == 2 and found.sure_of(5).of == 4


def test_the_paired_test_is_mcnemars_on_a_made_table() -> None:
    """8 pictures only the adapted network gets confidently wrong, 1 only the source: p = 2 (1 + 9) / 2^9."""
    source, adapted = network(1, 99), network(8, 92, n_first=1)
    found = Contrast(source, adapted).mistakes
    assert (found.only_first, found.only_second, found.both, found.neither) == (8, 1, 0, 91)
    assert found.p_value == pytest.approx(20 / 512) and found.difference == pytest.approx(0.07)
    exchanged = Contrast(adapted, source)
    assert exchanged.mistakes.difference == pytest.approx(-0.07)
    assert exchanged.sure_wrong_change == pytest.approx(-0.07)


def test_swapped_digits_are_left_out_of_both_networks() -> None:
    contrast = Contrast(network(10), network(30, 70))
    assert contrast.swapped == (1,)
    assert contrast.sure_wrong_change == pytest.approx(0.2)
    assert contrast.unswapped.sure_wrong_change == 0.0 and contrast.unswapped.adapted.sure_wrong.of == 70


def test_the_sentence_says_more_less_or_not_measurably_more() -> None:
    """Runs are the clusters: a change that some runs reverse is not measurable however many pictures they have."""
    more = [Contrast(network(10), network(30 + k, 70 - k)) for k in range(5)]
    less = [Contrast(contrast.adapted, contrast.source) for contrast in more]
    mixed = [*more[:2], *less[:3]]
    assert [verdict(contrasts) for contrasts in (more, less, mixed)] == [
        "more",
        "less",
        "not measurably more",
    ]
    assert verdict(more[:1]) == "not measurably more" and "one run, so no interval" in sentence(more[:1])
    assert "+22.0\u00a0points, 95%: +20.0\u00a0points to +24.0\u00a0points" in sentence(more)
    assert "more overconfident" in sentence(more)


def test_the_committee_needs_six_tenths_on_average() -> None:
    torn, sure = rows([3, 7], [0.5, 0.7]), rows([3, 7], [0.68, 0.55])
    assert committee_truth([torn, sure]).tolist() == [NO_DIGIT, 7]
    assert committee_truth([sure]).tolist() == [3, NO_DIGIT]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    options = CompareOptions(
        pairs=(SAME,), committee=("mnist-classifier",), generator="mnist-vae", draws=40, data=folder
    )
    return compare(options, lambda *_: None)


@pytest.mark.usefixtures("one_thread")
def test_a_network_compared_with_itself_does_not_change(comparison: Comparison) -> None:
    (test,), (drawn,) = comparison.test, comparison.drawn
    assert len(test.source.truth) == N_TEST and len(drawn.source.truth) == 40
    for contrast in (test, drawn):
        assert (
            contrast.mistakes.p_value == 1.0
            and contrast.sure_wrong_change == contrast.calibration_change == 0.0
        )
    assert drawn.source.accuracy.count == 40 - comparison.no_digit  # the committee is the network
    message: Any = comparison_json(comparison)
    assert json.loads(json.dumps(message)) == message and message["draws"] == 40
    first = message["drawn"]["runs"][0]["source"]["first_sure"]
    assert sum(right for right, _ in first) == sum(of for _, of in first) > 0
    words = markdown(comparison)
    assert "not measurably more overconfident" in words and "40 drawings of mnist-vae" in words


@pytest.mark.usefixtures("one_thread")
def test_the_command_tells_the_table_and_refuses_other_models(folder: Path) -> None:
    result = reproduced("overconfidence", SAME, "--data", folder)
    assert "| 1 | adapted |" in result.stdout and "drawings" not in result.stdout
    refused(reproduce("overconfidence", "mnist-classifier", "--data", folder), "is not SOURCE:ADAPTED")
    refused(reproduce("overconfidence", f"{SAME}:x", "--data", folder), "is not SOURCE:ADAPTED")
    other = "mnist-classifier:fashion-classifier"
    refused(
        reproduce("overconfidence", other, "--data", folder), "fashion-classifier is a classifier of T-shirt"
    )
    refused(reproduce("overconfidence", SAME, "--data", folder, "--member", "nobody"), "digit model 'nobody'")
    refused(reproduce("overconfidence", SAME, "--data", folder, "--draws", 0), "--draws 0: give 1 to 1")
    drawn = ("overconfidence", SAME, "--data", folder, "--member", "mnist-classifier", "--seed", -1)
    refused(reproduce(*drawn), "--seed -1: give 0 to")
    refused(reproduce(*drawn[:-2], "--draws", 10**30), "--draws 1", "give 1 to 1,000,000")
    garments = ("--member", "mnist-classifier", "--draws", 2, "--generator", "fashion-vae")
    refused(reproduce("overconfidence", SAME, "--data", folder, *garments), "draws pictures of fashion")
    refused(reproduce("overconfidence", SAME, SAME, "--data", folder), "a pair is given twice")


def unsure(n_right: int, n: int = 100, confidence: float = 0.85) -> Answers:
    """Sure of nothing: so many of n answers are right."""
    return answers([0] * n, [confidence] * n, [0] * n_right + [1] * (n - n_right))


def test_a_network_that_is_sure_of_nothing_has_no_share_of_wrong_answers() -> None:
    """Planted bug: 0 of 0 counted as 0%, so that a network that had collapsed was "less overconfident"."""
    runs = [Contrast(network(20, 80), unsure(20 + k)) for k in range(3)]
    assert np.isnan(runs[0].sure_wrong_change)
    assert verdict(runs) == "unmeasured"
    assert "cannot be said" in sentence(runs) and "in 3 runs a network is sure of nothing" in sentence(runs)
    assert "less" not in sentence(runs)


def test_two_measures_that_go_opposite_ways_give_no_verdict() -> None:
    """Planted bug: the share among sure answers alone decided, whatever the calibration error said."""

    def run(n_wrong: int) -> Contrast:
        few = answers(
            [0] * 110, [0.95] * 10 + [0.85] * 100, [0] * 10 + [1] * 100
        )  # right where it is sure, else wrong
        return Contrast(network(n_wrong, 100 - n_wrong), few)

    runs = [run(20), run(21), run(22)]
    assert all(contrast.sure_wrong_change < 0 < contrast.calibration_change for contrast in runs)
    assert verdict(runs) == "unclear" and "disagree" in sentence(runs)


def test_digits_of_which_a_network_is_never_sure_are_not_in_the_mean() -> None:
    """Planted bug: such a digit counted as 0%, and a network that is always right where it is sure got .9."""
    digits = [0, *range(2, DIGITS)]
    both = answers(digits, [0.99] * len(digits), digits)
    table = _digits([Contrast(both, both)])
    assert "| 1 | never sure | never sure |" in table
    assert table.splitlines()[-1].startswith("| mean of the digits | 1.000 (without 1 of 10: never sure) |")


def test_the_error_is_the_mean_distance_of_accuracy_from_confidence() -> None:
    """Bins [.8, .867) and [.933, 1]: 2 pictures .83 sure, one right; 2 pictures 1.0 sure, one right."""
    confidence = np.array([0.83, 0.83, 1.0, 1.0])
    found = expected_calibration_error(confidence, np.array([True, False, True, False]))
    assert found == pytest.approx((abs(0.83 - 0.5) + abs(1.0 - 0.5)) / 2)
    assert expected_calibration_error(np.ones(5), np.ones(5, bool)) == 0.0
    assert expected_calibration_error(np.zeros(0), np.zeros(0, bool)) == 0.0


def test_errors_cancel_within_a_bin_and_not_between_bins() -> None:
    confidence = np.array([0.51, 0.95])
    is_right = np.array([True, False])
    assert expected_calibration_error(confidence, is_right, bins=1) == pytest.approx(0.73 - 0.5)
    assert expected_calibration_error(confidence, is_right) == pytest.approx((0.49 + 0.95) / 2)


def test_what_is_no_confidence_is_refused() -> None:
    with pytest.raises(InputError, match="not of the same pictures"):
        expected_calibration_error(np.ones(3), np.ones(2, bool))
    with pytest.raises(InputError, match="not within 0 and 1"):
        expected_calibration_error(np.array([1.2]), np.ones(1, bool))


def test_the_interval_of_a_mean_is_students() -> None:
    """t with 2 degrees of freedom has its .975 quantile at 4.302653 (any table)."""
    low, high = mean_interval([1.0, 2.0, 3.0])
    assert low == pytest.approx(2.0 - 4.302653 / 3**0.5, rel=1e-6) and low + high == pytest.approx(4.0)
    assert mean_interval([1.0]) == mean_interval([]) == (-np.inf, np.inf)
    assert mean_interval([0.5, 0.5]) == (0.5, 0.5)


def test_it_covers_the_mean_of_five_runs_in_95_percent() -> None:
    """Planted: the normal's quantile instead of Student's covers too seldom."""
    rng, n = np.random.default_rng(3), 4000
    runs = rng.standard_normal((n, 5))
    covered = sum(low <= 0.0 <= high for low, high in map(mean_interval, runs.tolist()))
    assert binom.cdf(covered, n, 0.95) > ALPHA / 2 and binom.sf(covered - 1, n, 0.95) > ALPHA / 2
    half = 1.96 * runs.std(axis=1, ddof=1) / 5**0.5
    assert binom.cdf(int((np.abs(runs.mean(axis=1)) <= half).sum()), n, 0.95) < ALPHA
