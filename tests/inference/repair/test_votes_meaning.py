"""Shares of votes have their own denominators: labelled pictures, and the voters who voted."""

from __future__ import annotations

import numpy as np
import pytest

from trex.inference.repair.votes import (
    MISSING,
    NONE,
    agreements,
    krippendorff,
    mean_and_error,
    right_share,
    verdict,
)


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
    assert [(one.count, one.of) for one in cast] == [(2, 3), (0, 1)]


def test_alpha_by_hand() -> None:
    """1 - (n - 1) times the observed disagreement over n^2 - the sum of squares. Planted bug: n in place of n - 1."""
    assert krippendorff(np.array([[1, 1], [1, 1], [2, 2], [1, 2]])) == pytest.approx(1 - 7 * 2 / (64 - 34))
    assert krippendorff(np.array([[1, 1, 2], [2, 2, 2]])) == pytest.approx(1 - 5 * 2 / (36 - 20))


def test_the_error_of_a_mean_is_that_of_the_mean() -> None:
    mean, error = mean_and_error(np.array([1.0, 2.0, 3.0, 4.0]))
    assert (mean, error) == pytest.approx((2.5, np.sqrt(5 / 3) / 2))
    assert mean_and_error(np.array([3.0])) == (3.0, 0.0)
