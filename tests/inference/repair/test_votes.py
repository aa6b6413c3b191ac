"""Majorities, verdicts and agreement by their definitions, and what must not pass for agreement."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from trex.inference.repair.votes import (
    MISSING,
    NONE,
    agreements,
    chance_agreement,
    krippendorff,
    majority,
    mean_and_error,
    right_share,
    verdict,
)

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", part C: 4 observers, 12 units, alpha .743
M = MISSING
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, M, M, M],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, M, 3],
        [M, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, M],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, M],
    ]
).T


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ([3, 3, 5, 5, 3], 3),
        ([3, 3, 5, 5, 1], MISSING),  # a tie
        ([NONE, NONE, 4, 2, 1], NONE),  # rejected, though classes have as many votes together
        ([4, NONE, 4, M, M], 4),
        ([M, M, M, M, M], MISSING),
    ],
)
def test_a_label_takes_a_strict_relative_majority(votes: list[int], label: int) -> None:
    assert majority(np.array(votes)) == label


def test_a_scenario_takes_more_than_half_of_at_least_five_labelled_pictures() -> None:
    answers = np.full(10, 9)
    four = verdict(np.array([4] * 6 + [9] * 4), answers)
    assert four.is_scenario and four.label == 4 and (four.pure, four.labelled) == (6, 10)
    assert not verdict(np.array([4] * 5 + [9] * 5), answers).is_scenario  # exactly half
    assert not verdict(np.array([4] * 4 + [NONE] * 6), answers).is_scenario  # four labels are too few
    assert not verdict(np.array([4] * 3 + [7] * 3), answers[:6]).is_scenario  # no one label
    assert not verdict(answers, answers).is_scenario


def test_alpha_is_the_published_one_and_falls_to_nothing_for_permuted_votes() -> None:
    assert krippendorff(PUBLISHED) == pytest.approx(0.743, abs=5e-4)
    table = np.repeat(np.arange(200)[:, None] % 10, 5, axis=1)
    assert krippendorff(table) == 1.0
    rng = np.random.default_rng(4)
    permuted = np.stack([rng.permutation(column) for column in table.T], axis=1)
    found = krippendorff(permuted)
    assert found is not None and abs(found) < 0.1
    assert krippendorff(np.full((3, 4), 7)) is None and krippendorff(np.zeros((0, 3), np.int64)) is None


def test_chance_agreement_is_that_of_all_votes_enumerated() -> None:
    """Planted bug: ties, which the measure leaves out, counted, and nobody voted "none"."""
    every = np.array(list(product((NONE, 0, 1, 2), repeat=4)))
    assert chance_agreement(4, 3) == pytest.approx(agreements(every).mean())
    assert chance_agreement(5, 10) == pytest.approx(0.427, abs=5e-4)
    assert chance_agreement(1, 10) == chance_agreement(2, 10) == pytest.approx(1.0)


def test_agreement_is_the_share_of_a_pictures_voters_who_chose_its_label() -> None:
    table = np.array([[1, 1, 1, 2], [1, 1, M, 3], [1, 2, M, M]])
    assert agreements(table).tolist() == [0.75, pytest.approx(2 / 3)]  # the tie has none


def test_exactly_half_is_not_more_than_half() -> None:
    """Planted bug: half was enough; in a tie of two labels there is no label, which hid it."""
    answers = np.full(10, 9)
    half = verdict(np.array([9] * 5 + [4] * 3 + [7] * 2), answers)
    assert (half.label, half.disagree, half.labelled) == (9, 5, 10) and not half.is_scenario
    more = verdict(np.array([9] * 4 + [4] * 5 + [7]), answers)
    assert (more.label, more.disagree) == (4, 6) and more.is_scenario


def test_pictures_without_a_label_do_not_outvote_those_that_have_one() -> None:
    """Planted bug: more than half of all pictures, rejected ones among them."""
    found = verdict(np.array([4] * 4 + [9] * 2 + [NONE] * 6 + [MISSING] * 3), np.full(15, 9))
    assert (found.pictures, found.labelled, found.disagree) == (15, 6, 4) and found.is_scenario


def test_voters_who_did_not_vote_on_a_picture_do_not_disagree_on_it() -> None:
    """Planted bug: the share of all annotators."""
    table = np.array(
        [[1, 1, 2, MISSING, MISSING], [3, MISSING, MISSING, MISSING, MISSING], [1, 2, 2, 2, NONE]]
    )
    assert agreements(table) == pytest.approx([2 / 3, 1.0, 3 / 5])
    cast = right_share(np.array([[1, 2], [1, MISSING], [2, MISSING]]), np.array([1, 1, 1]))
    assert [(proportion.count, proportion.of) for proportion in cast] == [(2, 3), (0, 1)]


def test_alpha_by_hand() -> None:
    """1 - (n - 1) times the observed disagreement over n^2 - the sum of squares. Planted bug: n in place of n - 1."""
    assert krippendorff(np.array([[1, 1], [1, 1], [2, 2], [1, 2]])) == pytest.approx(1 - 7 * 2 / (64 - 34))
    assert krippendorff(np.array([[1, 1, 2], [2, 2, 2]])) == pytest.approx(1 - 5 * 2 / (36 - 20))


def test_the_error_of_a_mean_is_that_of_the_mean() -> None:
    mean, error = mean_and_error(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (mean, error) == pytest.approx((2.5, np.sqrt(5 / 3) / 2))
    assert mean_and_error(np.array([3.0])) == (3.0, 0.0)
