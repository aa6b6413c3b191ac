"""Halton points (1960) over the camera and the lights, objects by the prior; a decision tree makes the sentences.

VerifAI has such a sampler; its package is not used here, as it gives counterexamples and no sentences.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import Looked, look
from benchmarks.planted.entrants.tree import claims_of
from benchmarks.planted.referee import Referee
from trex.scenes.scene import Nuisances
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR


def halton(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """A valid scene for each point; its tree is that of `tree`."""
    from scipy.stats.qmc import Halton

    points = Halton(len(Nuisances().coordinates), rng=np.random.default_rng(seed))
    looked = list[Looked]()
    while referee.left:
        (known,) = referee.draw(1)
        (point,) = points.random(1)
        scene = replace(known.scene, nuisances=_at(point))
        if is_valid(scene, CLEVR):
            looked.append(look(referee, referee.known(scene, len(looked))))
    return Result(claims_of(looked, seed), sum(each.failed for each in looked))


def _at(point: NDArray[np.float64]) -> Nuisances:
    """The nuisances at a point of the unit cube."""
    values = iter(point.tolist())
    return Nuisances().mapped(lambda _, reach: reach * (2.0 * float(next(values)) - 1.0))
