"""Three kinds of noise on a picture's code, from which mistakes are grown (Defuse, Slack et al. 2021, part "identify").

The publication adds Beta(a, a) as it is, whose mean is 1/2: it moves every code by 1/2 in every latent ("printed").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Noise = Literal["printed", "centred", "posterior"]
NOISES: tuple[Noise, ...] = ("printed", "centred", "posterior")
SCALES: dict[Noise, float] = {"printed": 1.0, "centred": 4.0, "posterior": 1.0}


@dataclass(frozen=True)
class Perturbation:
    """Noise of one kind: `concentration` is a of Beta(a, a), `scale` multiplies the noise that is centred on 0."""

    noise: Noise
    concentration: float
    scale: float

    def draw(self, rng: np.random.Generator, deviation: Floats, n: int) -> Floats:
        """(n, d) steps from a code whose posterior has the standard deviation (d,).

        printed: Beta(a, a). centred: scale * (Beta(a, a) - 1/2). posterior: scale * deviation * N(0, I).
        """
        size = (n, len(deviation))
        if self.noise == "posterior":
            return self.scale * deviation * rng.standard_normal(size)
        beta = rng.beta(self.concentration, self.concentration, size)
        return beta if self.noise == "printed" else self.scale * (beta - 0.5)


def perturbation(noise: Noise, concentration: float, scale: float | None) -> Perturbation:
    """The noise of this kind; a scale of None is the kind's own: 4 for centred noise (SD .2 at a = 50), else 1."""
    return Perturbation(noise, concentration, SCALES[noise] if scale is None else scale)


def nearest_rows(steps: Floats, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Of these rows of steps (n, d) the `most` with the smallest Euclidean norm, in their order."""
    if len(rows) <= most:
        return rows
    norms = np.linalg.norm(steps[rows], axis=1)
    return np.sort(rows[np.argsort(norms, kind="stable")[:most]])
