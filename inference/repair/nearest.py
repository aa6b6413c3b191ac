"""Nearest neighbors by Euclidean distance, exactly, and how often one group lies farther away than another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def nearest(vectors: Floats, blocks: Iterable[Floats]) -> tuple[Ints, Floats]:
    """The nearest of all rows of the blocks, (b, d) each, for every vector (n, d), and the distance to it, (n,) each.

    The first of equally near rows. A copy has distance 0: the distance is taken from the difference, since the sum of
    squares and products by which the row is found would round it. ValueError if there are no rows.
    """
    row, best, start = np.zeros(len(vectors), np.int64), np.full(len(vectors), np.inf), 0
    for block in blocks:
        squares = (block**2).sum(axis=1) - 2.0 * vectors @ block.T  # (n, b), without the vectors' own squares
        place = squares.argmin(axis=1)
        distance = np.linalg.norm(vectors - block[place], axis=1)
        is_nearer = distance < best
        row[is_nearer], best[is_nearer] = start + place[is_nearer], distance[is_nearer]
        start += len(block)
    if not start:
        raise ValueError("there is nothing to be near to")
    return row, best


def share_farther(distances: Floats, others: Floats) -> float:
    """The share of pairs in which one of `distances` (n,) exceeds one of `others` (m,), ties counting half.

    Mann and Whitney's U / (n m) (1947): 1/2 if both are alike. ValueError if either is empty.
    """
    if not len(distances) or not len(others):
        raise ValueError("there is nothing to compare")
    ordered = np.sort(others)
    below, up_to = (np.searchsorted(ordered, distances, side=side) for side in ("left", "right"))
    return float((below + up_to).sum() / (2.0 * len(distances) * len(others)))
