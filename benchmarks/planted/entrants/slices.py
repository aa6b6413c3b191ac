"""Slices of pictures, for the track that shows no scene: an error-aware mixture, in the manner of Domino (2022).

Half of the pictures fit a Gaussian mixture over what a picture looks like and whether the model was wrong about it. A
component is a slice; the other half of the pictures confirms those on which the model is wrong more often than
elsewhere. A slice has no words but a number, and can only be judged on pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.planted.claims import Pictures, Slice
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import labelled
from benchmarks.planted.referee import Referee
from trex.auditing.judging.findings import more_than_elsewhere
from trex.inference.statistics.discoveries import discoveries
from trex.scenes.conditions import Bools

STEP = 4  # pixels that one averaged pixel stands for, each way
DIMENSIONS, COMPONENTS = 16, 25
ERROR_WEIGHT = 10.0  # of the column that says whether the model was wrong, beside columns of variance 1
Rows = np.ndarray[Any, np.dtype[np.float64]]


def slices(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """The slices of all pictures that the budget has."""
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    seen = labelled(referee, referee.left)
    wrong = np.array([each.failed for each in seen], dtype=np.bool_)
    half = len(seen) // 2
    if not wrong[:half].any():
        return Result((), int(wrong.sum()))
    small = _small(np.stack([each.pixels for each in seen]))
    shrunk = PCA(min(DIMENSIONS, half - 1), whiten=True, random_state=seed).fit(small[:half])

    def looks(pixels: Pictures) -> Rows:
        found: Rows = shrunk.transform(_small(pixels))
        return found

    mixture = GaussianMixture(
        max(1, min(COMPONENTS, half // 8)), covariance_type="diag", reg_covar=1e-3, random_state=seed
    )
    own = looks(np.stack([each.pixels for each in seen[:half]]))
    mixture.fit(np.column_stack([own, ERROR_WEIGHT * wrong[:half]]))
    # A new picture is told apart by its looks alone.
    mixture.means_, mixture.covariances_ = mixture.means_[:, :-1], mixture.covariances_[:, :-1]
    mixture.precisions_cholesky_ = mixture.precisions_cholesky_[:, :-1]
    mixture.n_features_in_ = own.shape[1]

    def member(number: int) -> Callable[[Pictures], Bools]:
        def holds(pixels: Pictures) -> Bools:
            found: Bools = mixture.predict(looks(pixels)) == number
            return found

        return holds

    others = np.stack([each.pixels for each in seen[half:]])
    inside = [member(number)(others) for number in range(mixture.n_components)]
    p_values = [
        more_than_elsewhere(_shares(wrong[half:], at), [(each, 1.0) for each in _shares(wrong[half:], ~at)])
        for at in inside
    ]
    named = discoveries(np.array(p_values))
    return Result(
        tuple(
            Slice(member(number), f"pictures of slice {number}") for number in np.flatnonzero(named).tolist()
        ),
        int(wrong.sum()),
    )


def _small(pixels: Pictures) -> Rows:
    """(n, 80, 120, 3) -> (n, 1800): averaged over squares, from 0 to 1."""
    n, height, width, channels = pixels.shape
    squares = pixels.reshape(n, height // STEP, STEP, width // STEP, STEP, channels)
    found: Rows = squares.mean(axis=(2, 4)).reshape(n, -1) / 255.0
    return found


def _shares(wrong: Bools, at: Bools) -> list[float]:
    return [float(each) for each in wrong[at]]
