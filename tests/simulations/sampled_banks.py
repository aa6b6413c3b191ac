"""Banks of prior scenes without scenes: a truth g per scene, normal, and a cheap score that correlates with it.

The confidence is sigmoid(3 (g - edge) + log 9), so that a scene is a hit (confidence .9) where g exceeds the edge, and
the relative weight is that of a target at confidence 1 with width .05. Rate and mass are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.inference.types import Floats

SLOPE, WIDTH = 3.0, 0.05
REACH = 12.0


@dataclass(frozen=True)
class Bank:
    """A true rate, and the rank correlation of the cheap score."""

    rate: float
    correlation: float = 0.0

    @property
    def edge(self) -> float:
        """The g beyond which a scene is a hit."""
        return float(norm.isf(self.rate))

    @cached_property
    def mass(self) -> float:
        """The exact mean relative weight."""
        parts = (-REACH, self.edge - 2.0, self.edge, REACH)
        return float(sum(quad(self._part, a, b, limit=200)[0] for a, b in pairwise(parts)))

    def draw(self, rng: np.random.Generator, repeats: int, n: int) -> tuple[Floats, Floats]:
        """(cheap scores, g), each (repeats, n); every row's scores fall, as the order of a bank says nothing."""
        pearson = 2.0 * math.sin(math.pi * self.correlation / 6.0)  # of normals with this rank correlation
        cheap = -np.sort(-rng.standard_normal((repeats, n)), axis=1)
        g = pearson * cheap + math.sqrt(1.0 - pearson**2) * rng.standard_normal((repeats, n))
        return cheap, g

    def hits(self, g: Floats) -> Floats:
        """1 where g is a hit, else 0."""
        return (g > self.edge).astype(float)

    def relative(self, g: Floats) -> Floats:
        """The weight relative to its peak."""
        gap = 1.0 / (1.0 + 9.0 * np.exp(np.clip(SLOPE * (g - self.edge), -50.0, 50.0)))
        found: Floats = np.exp(-0.5 * (gap / WIDTH) ** 2)
        return found

    def _part(self, g: float) -> float:
        return float(self.relative(np.array(g))) * float(norm.pdf(g))


def mass_interval(mass: float, n: int) -> Interval:
    """Of a mass that is the mean of n relative weights: Clopper and Pearson's interval for n * mass hits."""
    return clopper_pearson(min(float(n), n * mass), n)
