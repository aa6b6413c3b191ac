"""Holding out whole tracks: frames of one filmed sign are near-copies, so none may learn while another judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.mnist_models.data.labelled import DataSet

SHARE = 0.2  # of the tracks, held out
SEED = 1  # of the split that trainings and repairs share


class Split(NamedTuple):
    """Rows (n,), ascending, to learn from, and those that are held out."""

    learning: NDArray[np.int64]
    held_out: NDArray[np.int64]


def track_groups(labels: NDArray[np.uint8], tracks: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number (N,) for each physical sign: tracks are counted anew within every class."""
    pairs = np.stack([labels.astype(np.int64), tracks], axis=1)
    groups: NDArray[np.int64] = np.unique(pairs, axis=0, return_inverse=True)[1]
    return groups.reshape(-1).astype(np.int64)


def split_tracks(data: DataSet, seed: int = SEED) -> Split:
    """A fifth of the groups held out, at random by seed; nothing if the data set has no groups."""
    if data.groups is None:
        return Split(np.arange(len(data.images)), np.zeros(0, np.int64))
    groups = np.random.default_rng(seed).permutation(np.unique(data.groups))
    is_held = np.isin(data.groups, groups[: round(SHARE * len(groups))])
    return Split(np.flatnonzero(~is_held), np.flatnonzero(is_held))


def some_tracks(
    data: DataSet, rows: NDArray[np.int64], most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """At most `most` of these rows, ascending, in whole groups in random order; InputError if not even one fits."""
    assert data.groups is not None
    groups, sizes = np.unique(data.groups[rows], return_counts=True)
    order = rng.permutation(len(groups))
    taken = groups[order[np.cumsum(sizes[order]) <= most]]
    if not len(taken):
        raise InputError(f"{most} pictures hold no whole track of {data.name}; take at least {sizes.max()}")
    return rows[np.isin(data.groups[rows], taken)]
