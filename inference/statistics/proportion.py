"""A counted share and the claims that it supports: the one source of every tile, sentence and table of a rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from trex.foundation.errors import InputError
from trex.foundation.words import percent, percent_span

LEAST_HITS = 4  # fewer give no point value, whatever the standard error
MAX_RELATIVE_ERROR = 0.5  # of the standard error to the value: a larger one rules out a point value


class Interval(NamedTuple):
    """An interval, at 95% unless stated otherwise.

    Parameters
    ----------
    low : float
        Its lower end, 0 to 1 for a rate.
    high : float
        Its upper end.

    Examples
    --------
    >>> from trex.inference.statistics.proportion import Interval
    >>> low, high = Interval(0.02, 0.08)
    """

    low: float
    high: float


def clopper_pearson(hits: float, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a rate after `hits` of n (Clopper and Pearson 1934); (0, 1) for n = 0.

    Parameters
    ----------
    hits : float
        How many of them are hits, 0 to n. Need not be whole: for a sum of n values in [0, 1] it is the interval of
        their mean. Such values vary at most as much as hits with the same mean (Hoeffding 1963, JASA 58, 13-30), so it
        is wider than need be.
    n : int
        Independent examples.
    level : float, default 0.95
        How often the interval holds, 0 to 1. Every rate that trex reports has 95%. Example: level=0.99.

    Examples
    --------
    >>> from trex.inference.statistics.proportion import clopper_pearson
    >>> low, high = clopper_pearson(7, 1500)
    >>> f"{low:.2%} to {high:.2%}"
    '0.19% to 0.96%'
    """
    from scipy.stats import beta

    if not 0 <= hits <= n:
        raise InputError(f"{hits} hits of {n} draws is impossible")
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return Interval(low, high)


@dataclass(frozen=True, repr=False)
class Proportion:
    """A counted share with its 95% interval, as `run.rate`.

    Parameters
    ----------
    count : int
        How many of them are counted.
    of : int
        How many there are in all.
    given : Interval, default None
        Its 95% interval, if the examples are not independent. None for Clopper and Pearson's. Example:
        given=Interval(0.02, 0.08).

    Examples
    --------
    >>> from trex.inference.statistics.proportion import Proportion
    >>> print(Proportion(12, 100))
    12.0% (12 of 100; 95% CI 6.4–20.0%)
    """

    count: int
    of: int
    given: Interval | None = None

    @property
    def value(self) -> float:
        """The share, however few hits it rests on, 0 if `of` is 0; `point` is None if it may not be reported."""
        return self.count / self.of if self.of else 0.0

    @property
    def interval(self) -> Interval:
        """The interval of the true share."""
        return self.given or clopper_pearson(self.count, self.of)

    @property
    def point(self) -> float | None:
        """The share if it may be reported as a value: at least 4 hits, and a relative standard error of at most .5."""
        if self.count < LEAST_HITS:
            return None
        error = math.sqrt((1.0 - self.value) / self.count)
        return self.value if error <= MAX_RELATIVE_ERROR else None

    @property
    def ceiling(self) -> str:
        """The upper end of the interval (about 3.7/n after no hit), in words."""
        return percent(self.interval.high)

    @property
    def counted(self) -> str:
        """What was counted: "12 of 100", "none of 100"."""
        return f"{self.count or 'none'} of {self.of}"

    @property
    def figure(self) -> str:
        """The rate in a few characters: "12.3%", "0.025–5.4%" without a point value, "< 3.6%" after no hit."""
        if not self.count:
            return f"< {self.ceiling}"
        return percent(self.point) if self.point is not None else self.range

    @property
    def range(self) -> str:
        """The interval in words: "0.025–5.4%"."""
        return percent_span(*self.interval)

    @property
    def detail(self) -> str:
        """The line below the figure: "12 of 100; 95% CI 6.4–20.0%", "1 of 100; 95% CI", "none of 100; 95%"."""
        if self.point is not None:
            return f"{self.counted}; 95% CI {self.range}"
        return f"{self.counted}; 95%{' CI' if self.count else ''}"

    def __str__(self) -> str:
        return f"{self.figure} ({self.detail})"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def share(flags: Iterable[bool | None]) -> Proportion:
    """How many of the flags are True, of all."""
    every = list(flags)
    return Proportion(sum(flag is True for flag in every), len(every))
