"""Which of many rows are more frequent here than under the prior: a p-value for each, and a false discovery rate.

A row compares a share of groups here with a share of the prior, which a sample bounds. As for the positive control,
the p-value averages the binomial tail over Beta(k + 1, n - k), which lies above the prior's true share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.types import Floats

POINTS = 200  # quantiles that stand for the distribution of the prior's share


def excess_p_value(hits: float, groups: int, prior_counts: tuple[float, float]) -> float:
    """The chance of at least `hits` of so many independent groups if each hits as the prior does.

    `hits` is the sum of a value in [0, 1] for each group, such as the share of its scenes; such sums vary at most as
    much as counts with the same mean (Hoeffding 1963). `prior_counts` are those of `weighted.upper_counts`.
    """
    from scipy.special import betainc, betaincinv

    if not 0 <= hits <= groups:
        raise InputError(f"{hits} hits of {groups} groups is impossible")
    if hits == 0:
        return 1.0
    shares = betaincinv(*prior_counts, (np.arange(POINTS) + 0.5) / POINTS)
    return float(np.mean(betainc(hits, groups - hits + 1.0, shares)))


def discoveries(p_values: Floats, rate: float = 0.05) -> NDArray[np.bool_]:
    """(m,): the rows to name, of which at most the share `rate` is expected to be wrong.

    Benjamini and Hochberg 1995, JRSS B 57, 289-300. It asks for rows that are independent or depend positively, as
    nested descriptions do ("cube", "red cube"); those that exclude each other ("red", "blue") depend negatively, but
    weakly, and p-values of counts are conservative. Benjamini and Yekutieli's (2001) correction for any dependence
    costs a factor of ln(m), 7 for 400 rows, and then names less than Bonferroni's where one cause is to be found.
    """
    from scipy.stats import false_discovery_control

    if not p_values.size:
        return np.zeros(0, dtype=np.bool_)
    named: NDArray[np.bool_] = false_discovery_control(p_values, method="bh") <= rate
    return named


def level_of_chosen(chosen: int, of: int, level: float = 0.95) -> float:
    """The level of the intervals of those rows that their own figures have chosen, so many of these.

    A row of few hits is named where it had more than usual, so that its interval misses the true share more often than
    its level says. With 1 - (1 - level) chosen / of in its place, at most the share 1 - level of the stated intervals
    is expected to (Benjamini and Yekutieli 2005, JASA 100, 71-81).

    Examples
    --------
    >>> from trex.inference.statistics.discoveries import level_of_chosen
    >>> level_of_chosen(2, 10)
    0.99
    """
    return 1.0 - (1.0 - level) * min(chosen, of) / of if chosen else level
