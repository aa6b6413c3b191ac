"""Two-phase estimates: a cheap score for every scene of a bank, the deciding look for a few of them.

Phase one is a bank of n independent prior scenes. Phase two selects members by Poisson sampling, each with its own
recorded probability, and weighs what it finds by 1 / probability (Sarndal, Swensson and Wretman 1992, Model Assisted
Survey Sampling, chapter 9). The estimates are unbiased for the prior, whatever the cheap score is worth; only their
spread depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.rng import SECOND_PHASE_STREAM, SPREAD_STREAM, stream
from trex.inference.statistics.proportion import MAX_RELATIVE_ERROR, Interval
from trex.inference.statistics.weighted import is_most, weighted_interval
from trex.inference.types import Floats

UNIFORM_SHARE = 0.5
HALVINGS = 80  # of the bracket of `_reach`


@dataclass(frozen=True, eq=False)
class Selection:
    """The members of the bank that phase two evaluates, and the inclusion probability of every member."""

    members: NDArray[np.intp]  # (k,), increasing
    inclusion: Floats  # (n,), in (0, 1]

    @property
    def n(self) -> int:
        """The size of the bank."""
        return int(self.inclusion.size)

    @property
    def weights(self) -> Floats:
        """(k,): 1 / inclusion of each member, the number of bank scenes that it stands for."""
        weights: Floats = 1.0 / self.inclusion[self.members]
        return weights

    @property
    def heaviest(self) -> float:
        """The largest weight that any scene of the bank could have had."""
        return float(1.0 / self.inclusion.min())

    def log_weights(self, log_relative: Floats) -> Floats:
        """(k,): the log of relative weight / inclusion, for `importance.effective_size` and `importance.resample`."""
        if log_relative.shape != self.members.shape:
            raise InputError(f"{log_relative.shape} log weights for {self.members.size} members")
        combined: Floats = log_relative + np.log(self.weights)
        return combined


@dataclass(frozen=True)
class Estimate:
    """The mean of a value between 0 and 1 over the prior: a rate (of hits) or a mass (of relative weights)."""

    value: float
    error: float  # relative standard error, of both phases together; infinite after no hit
    interval: Interval

    @property
    def point(self) -> float | None:
        """The value if it may be stated: as for a counted share, the relative standard error is at most .5."""
        return self.value if self.error <= MAX_RELATIVE_ERROR else None


def design(seed: int, cheap_scores: Floats, n_second: int, uniform_share: float = UNIFORM_SHARE) -> Selection:
    """Select about n_second members of the bank, the likeliest by cheap score (n,) first.

    Each member has a permanent random number, a function of (seed, index) alone, and is in if that is below its
    probability (Brewer, Early and Joyce 1972, Australian Journal of Statistics 14, 231-239; Ohlsson 1995). No
    probability falls as n_second grows, so a larger n_second only adds members.
    """
    inclusion = inclusion_probabilities(cheap_scores, n_second, uniform_share)
    return Selection(
        np.flatnonzero(own_numbers(seed, SECOND_PHASE_STREAM, inclusion.size) < inclusion), inclusion
    )


@lru_cache(maxsize=8)  # 23 microseconds a member; samples are drawn anew wherever a run is read
def own_numbers(seed: int, kind: int, n: int) -> Floats:
    """(n,) in [0, 1), not to be written to: the permanent random number of each member for one kind of selection."""
    found = np.array([stream(seed, kind, i).random() for i in range(n)])
    found.setflags(write=False)
    return found


def spread_share(m: int, n: int) -> float:
    """The probability with which each of n members is in a spread sample of about m."""
    if m < 0 or n < 1:
        raise InputError(f"a spread sample of {m} of {n} scenes is impossible")
    return min(1.0, m / n)


def spread_members(seed: int, m: int, n: int) -> list[int]:
    """The members of a spread sample: those with a permanent random number below m / n, the lowest first.

    About m of n, the same for every question and model. A larger m only adds members, at the end.
    """
    own = own_numbers(seed, SPREAD_STREAM, n)
    return [int(i) for i in np.argsort(own, kind="stable") if own[i] < spread_share(m, n)]


def with_spread(first: Selection, spread: Sequence[int], share: float) -> Selection:
    """The selection of what is in the first one, or in a spread sample that has every member with this probability.

    The two are independent, and a member is weighted by the probability of being in at least one of them. With one
    random number for both, the smaller sample would be a part of the larger: fewer pictures, but wider intervals.
    """
    either = 1.0 - (1.0 - first.inclusion) * (1.0 - share)
    return Selection(np.union1d(first.members, np.array(spread, dtype=np.intp)), either)


def everyone(n: int) -> Selection:
    """All n prior draws, each with probability 1: phase one and phase two are the same."""
    if n < 1:
        raise InputError(f"{n} prior draws give no rate; draw at least one")
    return Selection(np.arange(n), np.ones(n))


def inclusion_probabilities(
    cheap_scores: Floats, n_second: int, uniform_share: float = UNIFORM_SHARE
) -> Floats:
    """(n,): max(floor, min(1, c / rank)) with sum n_second, the highest score has rank 1.

    The floor, uniform_share * n_second / n, is what remains if the cheap score is worthless. Above it every doubling
    of the rank gets about the same number of evaluations, so no threshold on the score has to be chosen. Equal
    scores have equal probabilities.
    """
    from scipy.stats import rankdata

    n = cheap_scores.size
    if cheap_scores.ndim != 1 or n == 0 or np.any(np.isnan(cheap_scores)):
        raise InputError(f"cheap scores {cheap_scores.shape} must be a non-empty list of numbers without NaN")
    if n_second < 1 or not 0.0 < uniform_share <= 1.0:
        raise InputError(
            f"{n_second} evaluations with a uniform share of {uniform_share}; at least 1, and a share above 0 up to 1, "
            "are needed: a member without a chance would make every estimate too low"
        )
    if n_second >= n:
        return np.ones(n)
    floor, ranks = uniform_share * n_second / n, rankdata(-cheap_scores)
    return _shares(_reach(ranks, floor, n_second), ranks, floor)


def estimate(selection: Selection, values: Floats, level: float = 0.95) -> Estimate:
    """The mean over the prior of a value in [0, 1], seen for the members (k,) only.

    Horvitz and Thompson's estimate sum(v / inclusion) / n: for rare hits it varies less than Hajek's ratio, whose
    denominator is random. Above one half it is 1 minus the estimate of 1 - v, as the interval is (`weighted`): the sum
    of nearly all weights would vary more than that of the few missing; not far above one half that makes it some
    hundredths too low. The error takes each member as an independent draw that is seen with its probability, so it
    holds both phases.
    """
    weights, n = selection.weights, selection.n
    interval = weighted_interval(values, weights, n, selection.heaviest, level)
    is_mirrored = is_most(values, weights, n)
    rare = 1.0 - values if is_mirrored else values
    total = min(float(weights @ rare), float(n))
    deviation = math.sqrt(max(0.0, float(weights**2 @ rare**2) - total**2 / n)) / n
    value = 1.0 - total / n if is_mirrored else total / n
    return Estimate(value, deviation / value if value else math.inf, interval)


def _shares(reach: float, ranks: Floats, floor: float) -> Floats:
    shares: Floats = np.maximum(floor, np.minimum(1.0, reach / ranks))
    return shares


def _reach(ranks: Floats, floor: float, n_second: int) -> float:
    """The c at which the probabilities sum to n_second."""
    low, high = 0.0, float(ranks.max())
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _shares(middle, ranks, floor).sum() < n_second else (low, middle)
    return high
