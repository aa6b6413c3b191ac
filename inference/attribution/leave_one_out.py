"""Effects of changes to a latent on a classifier's answer: single effects, the part responsible, means over repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.types import Floats

NOTICEABLE = 0.01  # of confidence: a smaller effect counts as none, and two effects closer than this as equal
LOWEST_LOG = -745.0  # about the log of the smallest double, in place of log 0


def strongest(effects: Sequence[float]) -> tuple[int, ...]:
    """The parts whose removal lowers the confidence most: several if they tie, none if no removal lowers it.

    Effects less than NOTICEABLE above the lowest one tie with it.
    """
    lowest = min(effects, default=0.0)
    return tuple(i for i, e in enumerate(effects) if e - lowest < NOTICEABLE) if lowest <= -NOTICEABLE else ()


def only(parts: Sequence[int]) -> int | None:
    """The one part, None if there is none or several."""
    return parts[0] if len(parts) == 1 else None


def margin(log_probs: Floats, top: int) -> float:
    """Log odds of label `top` over the best other label, (K,) -> number; below 0 the answer differs."""
    others = np.delete(log_probs, top)
    if not others.size:
        raise InputError("a classifier with one answer cannot change it")
    return max(float(log_probs[top]), LOWEST_LOG) - max(float(others.max()), LOWEST_LOG)


SATURATED = 0.99  # of the reach: a difference beyond it is at the end of the range


@dataclass(frozen=True)
class MeanEffect:
    """A mean over n repeats with Student's 95% interval, which is None for a single repeat."""

    mean: float
    low: float | None
    high: float | None
    n: int

    @property
    def is_negative(self) -> bool:
        """Whether the whole interval is below 0."""
        return self.high is not None and self.high < 0.0


def paired_effect(
    before: Sequence[float], after: Sequence[float], reach: float = math.inf, level: float = 0.95
) -> MeanEffect:
    """The mean of after - before over pairs that share everything else, with Student's t interval (Gosset 1908).

    Exact for normal differences. For values in [0, reach] it is an approximation: a few that are nearly alike say
    little about their spread. The interval then also allows for pairs unlike all n, of which a share
    u = 1 - (1 - level)^(1/n) may go unseen (Clopper and Pearson 1934). Their values may fall to 0 or rise to reach, so
    that it spans (1 - u) mean - u before to (1 - u) mean + u (reach - before). If all differences are at one end of the
    range, unseen ones may be at the other.
    """
    from scipy.stats import t as student

    if len(before) != len(after) or not before:
        raise InputError(f"{len(before)} and {len(after)} repeats do not make pairs")
    changes = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    mean, n = float(changes.mean()), len(changes)
    if n == 1:
        return MeanEffect(mean, None, None, 1)
    half = float(student.ppf(0.5 + level / 2.0, n - 1)) * float(changes.std(ddof=1)) / math.sqrt(n)
    if math.isinf(reach):
        return MeanEffect(mean, mean - half, mean + half, n)
    unseen, first = 1.0 - (1.0 - level) ** (1.0 / n), float(np.mean(before))
    ends = (-first, reach - first)
    if np.all(np.abs(changes) >= SATURATED * reach) and abs(np.sign(changes).sum()) == n:
        ends = (-reach, reach)
    low, high = ((1.0 - unseen) * mean + unseen * end for end in ends)
    return MeanEffect(mean, max(min(mean - half, low), -reach), min(max(mean + half, high), reach), n)
