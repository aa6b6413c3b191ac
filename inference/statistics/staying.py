"""Whether a hit stays in its level set under noise, decided from as few noise draws as it takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

LEAST_SHARE = 0.75  # of its noise draws that stay
LEAST_DRAWS = 4  # for an interval to say anything; if fewer are allowed, none is asked for
LEVEL = 0.99
# What is known of a hit's noise before its first draw, as good as so many draws: the standard deviation of the margin.
# At preset `fast` it is .09 to 1.6, mostly .3, with the shipped model (24 hits of the demo, 28 draws each).
PRIOR_DRAWS, PRIOR_DEVIATION = 4, 0.3


def stays(margins: Sequence[float], is_inside: bool, most: int) -> bool | None:
    """Whether a hit stays, by its noise draws so far; None if more of them are needed.

    `margins` are how far each draw lies inside the level set, from 1 to 0 at its edge and negative outside
    (`GaussianTarget.margin`); `is_inside` is whether the mean of their probabilities does; `most` is how many draws are
    allowed. It stays if the mean is inside, and LEAST_SHARE of the draws too, and Student's interval of the mean margin
    lies inside as a whole. It does not if that lies outside as a whole, or at neither side after the last draw.

    Two draws may be alike by chance, so the variance before the last draw is that of the draws and of PRIOR_DRAWS
    further ones with PRIOR_DEVIATION, the conjugate prior of a variance (Gelman et al. 2013, Bayesian Data Analysis,
    section 3.3). After all draws their own variance counts alone.
    """
    n = len(margins)
    is_enough = is_inside and sum(margin >= 0 for margin in margins) >= LEAST_SHARE * n
    if most < LEAST_DRAWS:
        return is_enough if n == most else None
    mean, half = sum(margins) / n, _half_width(margins, PRIOR_DRAWS if n < most else 0)
    if mean - half > 0 and is_enough:
        return True
    return False if mean + half < 0 or n == most else None


def _half_width(margins: Sequence[float], prior_draws: int) -> float:
    """Half of Student's interval of the mean."""
    n = len(margins)
    mean, freedom = sum(margins) / n, prior_draws + n - 1
    squares = prior_draws * PRIOR_DEVIATION**2 + sum((margin - mean) ** 2 for margin in margins)
    return _quantile(freedom) * math.sqrt(squares / freedom / n)


@cache
def _quantile(freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + LEVEL / 2, freedom))
