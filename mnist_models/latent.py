"""The prior of latents for VAE and GAN; its proposal is `trex.inference.gaussian_walk.GaussianWalk`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StandardNormal:
    """N(0, I) on the latents (d,); kernel "nuts" needs it.

    Parameters
    ----------
    d : int
        The number of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.mnist_models.latent import StandardNormal
    >>> StandardNormal(2).sample(np.random.default_rng(0)).shape
    (2,)
    """

    d: int

    def sample(self, rng: np.random.Generator) -> Floats:
        """(d,)."""
        return rng.standard_normal(self.d)

    def log_density(self, z: Floats) -> float:
        """Natural log, normalized; its support is the whole space."""
        return float(-0.5 * (z @ z) - 0.5 * self.d * math.log(2.0 * math.pi))
