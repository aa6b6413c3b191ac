"""Checks that a world has scenes, so that no search spends hours rejecting what it draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trex.foundation.errors import InputError
from trex.scenes.prior import ScenePrior, draw_positions
from trex.scenes.properties import RADIUS
from trex.scenes.validity import MIN_GAP
from trex.scenes.vocabulary import Vocabulary

SURE = 6  # this many objects of any size always fit
BATCH, BATCHES = 8192, 4000  # layouts tried at most; takes seconds, and only if almost nothing fits
SCENES = 300  # tried for a condition; one that holds for 2% of scenes passes with 99.8%


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


def check_wrong(prior: ScenePrior, question: str) -> None:
    """Raise InputError if the answers of `prior.wrong` are wrong in none of SCENES scenes drawn without it."""
    wrong, free, rng = prior.wrong, replace(prior, wrong=None), np.random.default_rng(0)
    if wrong is None or any(wrong.is_wrong(free.sample(rng)) for _ in range(SCENES)):
        return
    answers = " or ".join(map(repr, wrong.answers))
    raise InputError(
        f"wrong = true: in none of {SCENES} scenes of this world does {question!r} have a true answer other than "
        f"{answers}; change [scene], the question, or the answer"
    )
