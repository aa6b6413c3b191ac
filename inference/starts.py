"""Starts of chains from evaluated scenes: near the level set, and from different clusters of scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.chains import tempering_power
from trex.inference.rng import START_STREAM, stream
from trex.inference.types import Floats, Z

COMPARABLE = 0.05  # of the largest tempered weight left: a lighter cluster waits
CANDIDATES_PER_CHAIN = 8  # scenes that are compared with each other
LOWEST = -1e300  # in place of -inf, which times a power of 0 is no number
SPREAD = 2.0  # scenes per chain that matter after tempering


def dispersed_starts(
    seed: int,
    zs: Sequence[Z],
    log_weights: Floats,
    inclusion: Floats,
    are_near: Callable[[Z, Z], bool],
    n_chains: int,
) -> tuple[int, ...]:
    """The indices of n_chains scenes to start from, distinct if there are as many; renders nothing.

    `log_weights` (n,) are those of the target, `inclusion` (n,) the probabilities with which the scenes were chosen
    for evaluation. Weights are tempered as for `chains.starts` and divided by the inclusion probabilities, so that
    a scene counts for all those like it that were not evaluated. The heaviest scenes form clusters, by single
    linkage of `are_near`. Clusters are drawn by their heaviest scene left, and give one of their scenes by its
    weight; none gives a second while another has given none and has a scene of at least a twentieth of the largest
    weight left. If there are fewer scenes than chains, each starts a chain before one starts another. InputError if
    there are none.
    """
    weights = _tempered(np.asarray(log_weights, float), np.asarray(inclusion, float), n_chains)
    rng = stream(seed, START_STREAM)
    heavy = np.argsort(-weights, kind="stable")[: CANDIDATES_PER_CHAIN * n_chains]
    heavy = heavy[weights[heavy] > 0.0] if np.sum(weights > 0.0) >= n_chains else heavy
    clusters = _clusters([int(i) for i in heavy], lambda i, j: are_near(zs[i], zs[j]))
    left = [list(cluster) for cluster in clusters]
    used = [0] * len(clusters)
    picked: list[int] = []
    while len(picked) < n_chains:
        if not any(left):
            left = [list(cluster) for cluster in clusters]
        best = np.array([weights[cluster].max(initial=0.0) for cluster in left])
        full = [k for k, cluster in enumerate(left) if cluster and best[k] >= COMPARABLE * best.max()]
        fewest = min(used[k] for k in full)
        fresh = [k for k in full if used[k] == fewest]
        chosen = fresh[_draw(rng, best[fresh])]
        used[chosen] += 1
        picked.append(left[chosen].pop(_draw(rng, weights[left[chosen]])))
    return tuple(picked)


def _tempered(log_weights: Floats, inclusion: Floats, n_chains: int) -> Floats:
    """(n,) with 1 for the heaviest scene."""
    n = log_weights.size
    if inclusion.shape != log_weights.shape or not n:
        raise InputError(
            f"{n_chains} chains need evaluated scenes to start from, each with its inclusion probability, not {n} and "
            f"{inclusion.size}"
        )
    if not np.all((inclusion > 0.0) & (inclusion <= 1.0)):
        raise InputError("an inclusion probability is outside (0, 1]; it is the probability of being chosen")
    power = tempering_power(log_weights, min(SPREAD * n_chains, 0.9 * n))
    total = power * np.maximum(log_weights, LOWEST) - np.log(inclusion)
    weights: Floats = np.exp(total - total.max())
    return weights


def _draw(rng: np.random.Generator, weights: Floats) -> int:
    total = weights.sum()
    return int(rng.choice(weights.size, p=weights / total)) if total > 0.0 else 0


def _clusters(members: Sequence[int], are_near: Callable[[int, int], bool]) -> list[list[int]]:
    """Connected components, each in the order of `members`."""
    clusters: list[list[int]] = []
    for member in members:
        near = [cluster for cluster in clusters if any(are_near(member, other) for other in cluster)]
        joined = [other for cluster in near for other in cluster]
        clusters = [cluster for cluster in clusters if cluster not in near] + [[*joined, member]]
    return clusters
