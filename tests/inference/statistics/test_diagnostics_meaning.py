"""What R-hat and effective sizes mean: ranks alone count, and words say what is so of every chain."""

from __future__ import annotations

import numpy as np
import pytest

from trex.inference.statistics.diagnostics import diagnose

RNG = np.random.default_rng(20_265)
MIXED = RNG.normal(size=(4, 200))


def test_the_effective_size_does_not_depend_on_the_scale_of_a_summary() -> None:
    """A log weight and its weight rank alike. Planted bug: the size of the mean, which a few heavy draws decide."""
    slow = MIXED.copy()
    for k in range(1, slow.shape[1]):
        slow[:, k] += 0.7 * slow[:, k - 1]
    known = diagnose("log weight", slow).ess
    assert diagnose("weight", np.exp(4.0 * slow)).ess == pytest.approx(known, rel=1e-9)


def test_one_chain_that_does_not_move_is_not_said_of_all() -> None:
    """Planted bug: one stuck chain of four, and the words were those of four."""
    values = MIXED.copy()
    values[2] = 0.3
    found = diagnose("x", values)
    assert np.isfinite(found.r_hat) and "every chain" not in found.words
