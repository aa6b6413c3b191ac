"""Common or rare: whether further independent prior draws answer a query within its budget.

A search decides in two stages. The first batch of prior draws decides, and if the target is common it also fixes how
many further draws are made. The rate and the mass are then those of the further draws alone, at `FURTHER_LEVEL`; a
rare target keeps the interval of the first batch. Over both branches the interval covers every true rate with at
least 95% probability. Proof: the first batch's upper end is too low with at most 2.5%, and so is a miss of the
further draws; and if its lower end can be too high although the target is called rare, then the batches called
common have even more hits, so that both together have at most the 2.5% of that lower end.

A common target whose first batch already holds the hits that the search was to find gets no further draws. The first
batch then keeps its own interval at `FURTHER_LEVEL`, since only batches with many hits end so
(tests/inference/statistics/test_coverage.py enumerates this branch, too).
"""

from __future__ import annotations

import math

from trex.foundation.errors import InputError

WANTED = 25.0  # effective draws that stand for a level set
FURTHER_LEVEL = 0.975  # of the interval from the further draws


def is_common(rate: float | None, budget: int, wanted: float = WANTED) -> bool:
    """Whether `wanted` effective draws fit into `budget` further independent prior draws.

    `rate` is a rate that may be stated as a value (`Proportion.point`, `two_phase.Estimate.point`); None is rare.
    """
    return rate is not None and further_draws(rate, wanted) <= budget


def further_draws(rate: float, wanted: float = WANTED) -> int:
    """How many further prior draws hold `wanted` hits on average: wanted / rate, rounded up."""
    if not 0.0 < rate <= 1.0:
        raise InputError(f"rate {rate} must lie above 0, up to 1; after no hit a target is not common")
    return math.ceil(wanted / rate)
