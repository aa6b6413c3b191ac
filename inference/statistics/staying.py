"""Whether a hit stays in its level set under noise, decided from as few noise draws as it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

LEAST_SHARE = 0.75  # of its noise draws that stay
LEAST_DRAWS = 4  # for an interval to say anything; if fewer are allowed, none is asked for
FURTHER = 0.95  # how surely a further draw has to stay
OUTSIDE = 0.995  # how surely the mean lies outside, for a hit to be given up before its last draw
# A hit with no more of its draws inside is given up. Ten searches find the same 43 hits with 730 instead of 1,058 noise
# draws; in simulation at most 0.4% of the clear hits are lost to it (reproduce/LOG.md).
LEAST_INSIDE = 0.5
# What is known of a hit's noise before its first draw, as good as so many draws: the standard deviation of the margin.
# At preset `fast` it is mostly .3 with the shipped model (.09 to 1.6; 24 hits of the demo, 28 draws each) and .5 with
# the Relation Network (.17 to .73; 16 hits of four queries); .3 let too many of the latter's pass.
PRIOR_DRAWS, PRIOR_DEVIATION = 4, 0.5
PRIOR_DEVIATION_BEFORE = 0.3  # in runs that do not say which they presumed


def stays(
    margins: Sequence[float], is_inside: bool, most: int, presumed: float = PRIOR_DEVIATION
) -> bool | None:
    """Whether a hit stays, by its noise draws so far; None if more of them are needed.

    `margins` are how far each draw lies inside the level set, from 1 to 0 at its edge and negative outside
    (`GaussianTarget.margin`); `is_inside` is whether the mean of their probabilities does; `most` is how many draws are
    allowed. It stays if the mean is inside, and LEAST_SHARE of the draws too, and Student's lower prediction limit of a
    further draw's margin lies inside: the limit of the mean would let hits near the edge pass of which a quarter of the
    draws leave. It does not stay if the upper limit of the mean lies outside, if no more than LEAST_INSIDE of the draws
    are inside, or if the draws are used up.

    Two draws may be alike by chance, so the variance before the last draw is that of the draws and of PRIOR_DRAWS
    further ones with standard deviation `presumed`, the conjugate prior of a variance (Gelman et al. 2013, Bayesian
    Data Analysis, section 3.3). After all draws their own variance counts alone.
    """
    n, n_inside = len(margins), sum(margin >= 0 for margin in margins)
    is_enough = is_inside and n_inside >= LEAST_SHARE * n
    if most < LEAST_DRAWS:
        return is_enough if n == most else None
    mean, (deviation, freedom) = sum(margins) / n, _spread(margins, presumed if n < most else None)
    if is_enough and mean > _quantile(FURTHER, freedom) * deviation * math.sqrt(1 + 1 / n):
        return True
    is_out = mean < -_quantile(OUTSIDE, freedom) * deviation / math.sqrt(n)
    is_torn = n_inside <= LEAST_INSIDE * n
    return False if is_out or is_torn or n == most else None


def _spread(margins: Sequence[float], presumed: float | None) -> tuple[float, int]:
    """The standard deviation of the margins, and its degrees of freedom; by the margins alone if none is presumed."""
    mean, prior_draws = sum(margins) / len(margins), 0 if presumed is None else PRIOR_DRAWS
    freedom = prior_draws + len(margins) - 1
    squares = prior_draws * (presumed or 0.0) ** 2 + sum((margin - mean) ** 2 for margin in margins)
    return math.sqrt(squares / freedom), freedom


@cache
def _quantile(level: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(level, freedom))
