"""Hits of the prior sample that no chain has come near: part of the level set that the chains may have missed.

Chains that all start in one mode, and stay there, agree with each other. Only draws that are independent of them can
contradict: a hit among prior draws that lies farther from every chain than the chains' own hits lie from each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.inference.types import Floats

FALSE_ALARM = 0.01  # that any hit is called unvisited though the chains represent the set
FAR = 2.0  # standard deviations under the prior: a gap in one summary that distances in many can hide
MAX_COMPARED = 2000  # hits of the chains whose own distances set the scale, evenly spaced


def unvisited(prior_hits: Floats, chain_hits: Sequence[Floats], scale: Floats) -> int:
    """How many hits of the prior sample have no chain draw like them.

    Parameters
    ----------
    prior_hits
        (h, s): s summaries of each hit among the prior draws.
    chain_hits
        For each chain that hit, (n, s): the summaries of its draws in the level set.
    scale
        (s,): the unit of each summary, its standard deviation under the prior. One of 0 is measured by the standard
        deviation among all hits, and left out if that is 0 too.

    Distances are Euclidean in these units. A hit's distance is that to the nearest draw of the other chains: for a draw
    of a chain, of all chains but its own; for a prior hit, the median over leaving out each chain in turn, so that
    both are compared with as many draws. A prior hit is unvisited if its distance exceeds a quantile of the chains'
    own, 1 - FALSE_ALARM / h (Bonferroni). Among many summaries these distances hide a gap in one of them, so it is also
    unvisited if its distance in any one summary exceeds FAR and all of the chains' own. 0 with fewer than two chains,
    which have no distance to each other.

    >>> near = [np.array([[0.0], [0.1], [0.2]]), np.array([[0.05], [0.15], [0.25]])]
    >>> unvisited(np.array([[0.12], [9.0]]), near, np.ones(1))
    1
    """
    if len(prior_hits) == 0 or len(chain_hits) < 2:
        return 0
    spread = np.concatenate([prior_hits, *chain_hits]).std(axis=0)
    unit = np.where(scale > 0.0, scale, spread)
    kept = unit > 0.0
    hits, chains = prior_hits[:, kept] / unit[kept], [rows[:, kept] / unit[kept] for rows in chain_hits]
    if not kept.any():
        return 0
    theirs, own = _distances(hits, chains)
    is_missed = theirs > np.quantile(own, 1.0 - FALSE_ALARM / len(hits), method="higher")
    for k in range(hits.shape[1]):
        theirs, own = _distances(hits[:, [k]], [rows[:, [k]] for rows in chains])
        is_missed |= theirs > max(FAR, float(own.max()))
    return int(is_missed.sum())


def _distances(hits: Floats, chains: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The distance of each hit, and of the chains' own draws, to the nearest draw of other chains."""
    from scipy.spatial import cKDTree

    own, theirs = [], []
    for left_out, rows in enumerate(chains):
        others = np.concatenate([other for k, other in enumerate(chains) if k != left_out])
        tree = cKDTree(np.unique(others, axis=0))
        step = max(1, len(rows) * len(chains) // MAX_COMPARED)
        own.append(tree.query(rows[::step])[0])
        theirs.append(tree.query(hits)[0])
    return np.median(theirs, axis=0), np.concatenate(own)
