"""The Gaussian random walk for latents that are float arrays (digits, toys)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trex.inference.types import Floats


@dataclass(frozen=True)
class GaussianWalk:
    """z + Normal(0, scale^2) in each of the d coordinates; not wrapped, so the prior's edge rejects."""

    scale: float

    def propose(self, rng: np.random.Generator, z: Floats) -> Floats:
        """The proposed latent (d,)."""
        step: Floats = z + self.scale * rng.standard_normal(z.shape)
        return step

    def log_q(self, to: Floats, given: Floats) -> float:
        """The normal log density with respect to Lebesgue measure."""
        gap = (to - given) / self.scale
        return float(
            -0.5 * np.dot(gap, gap) - gap.size * (math.log(self.scale) + 0.5 * math.log(2.0 * math.pi))
        )
