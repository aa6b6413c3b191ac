"""Effective sample sizes that are known: AR(1) chains, repeated draws, independent ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from trex.inference.statistics.diagnostics import diagnose
from trex.inference.types import Floats

CHAINS, DRAWS = 4, 5_000


def autoregressive(correlation: float, n: int = DRAWS) -> Floats:
    """(CHAINS, n), stationary: x_t = correlation * x_(t-1) + noise, of ESS n (1 - correlation) / (1 + correlation)."""
    noise = np.random.default_rng(11).standard_normal((CHAINS, n))
    noise[:, 0] /= np.sqrt(1.0 - correlation**2)
    chains: Floats = lfilter([1.0], [1.0, -correlation], noise, axis=1)
    return chains


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.3])
def test_autoregressive_chains_have_their_known_size(correlation: float) -> None:
    """Within a sixth; an ESS doubled, or halved, is out by far."""
    exact = CHAINS * DRAWS * (1.0 - correlation) / (1.0 + correlation)
    found = diagnose("x", autoregressive(correlation)).ess
    assert exact / 1.17 < found < exact * 1.17
    assert not exact / 1.17 < 2.0 * found < exact * 1.17


@pytest.mark.parametrize("times", [2, 5])
def test_repeated_draws_add_nothing(times: int) -> None:
    """A chain that rejects repeats its state; planted: each repeat counted as a draw."""
    once = autoregressive(0.0, 1_000)
    found = diagnose("x", np.repeat(once, times, axis=1)).ess
    assert 0.8 < found / once.size < 1.2
    assert found < 0.7 * times * once.size
