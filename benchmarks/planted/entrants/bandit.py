"""A bandit over single conditions: upper confidence bounds (UCB1, Auer et al. 2002) choose what to render."""

from __future__ import annotations

import numpy as np

from benchmarks.planted.entrants.arms import CONDITIONS, arms_of, claimed
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.referee import Referee


def bandit(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """Each render is a draw that meets the condition with the highest bound; sure conditions are claims."""
    arms, rng = arms_of(referee), np.random.default_rng(seed)
    n, hits = np.zeros(len(CONDITIONS)), np.zeros(len(CONDITIONS))
    is_open = np.ones(len(CONDITIONS), dtype=np.bool_)
    while referee.left and is_open.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(n > 0, hits / n + np.sqrt(2 * np.log(max(2.0, n.sum())) / n), np.inf)
        bound = np.where(is_open, bound + 1e-9 * rng.random(len(bound)), -np.inf)
        arm = int(bound.argmax())
        failed = arms.pull((arm,))
        if failed is None:
            is_open[arm] = False
            continue
        n[arm], hits[arm] = n[arm] + 1, hits[arm] + failed
    return Result(claimed(arms, [(k,) for k in range(len(CONDITIONS))]), sum(arms.failed.values()))
