"""Checks that n objects fit on CLEVR's ground, so that no search spends hours rejecting layouts."""

from __future__ import annotations

import numpy as np

from trex.foundation.errors import InputError
from trex.scenes.prior import draw_positions
from trex.scenes.validity import MIN_GAP
from trex.scenes.vocabulary import RADIUS, Vocabulary

SURE = 6  # this many objects of any size always fit
BATCH, BATCHES = 8192, 4000  # layouts tried at most; takes seconds, and only if almost nothing fits


def check_placement(vocabulary: Vocabulary, n: int) -> None:
    """Raise InputError if none of 30 million random layouts of n such objects keeps CLEVR's distances."""
    if n <= SURE:
        return
    rng = np.random.default_rng(0)
    sizes = np.array([RADIUS[size] for _, size, _, _ in vocabulary.combinations()])
    first, second = np.triu_indices(n, 1)
    for _ in range(BATCHES):
        where = draw_positions(rng, BATCH, n)  # (k, n, 2)
        radius = rng.choice(sizes, size=where.shape[:2])
        apart = np.hypot(*np.moveaxis(where[:, first] - where[:, second], -1, 0))
        if np.any(np.all(apart - radius[:, first] - radius[:, second] >= MIN_GAP, axis=1)):
            return
    raise InputError(
        f"{n} objects of this vocabulary do not fit: none of {BATCH * BATCHES:,} random layouts keeps CLEVR's "
        "distances; lower [scene] objects, or revoke fewer small ones"
    )
