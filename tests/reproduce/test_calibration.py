"""Expected calibration error by hand, and the interval of a mean of few clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from reproduce.adaptation.calibration import expected_calibration_error, mean_interval
from tests.references.statistics import ALPHA
from trex.foundation.errors import InputError


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
