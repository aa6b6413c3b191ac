"""A world in which nearly all latents look equally hopeless, with an exact mass: a step of the first coordinate.

The prior is standard normal in three dimensions. The log odds of "yes" are 12 (x - 2.9), so that at the median they
are -35 and softmax has saturated: all weights but a few are exp(-200), to three digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad

from tests.worlds.toy_disk import Dot
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, Pixels

SLOPE, STEP, REACH = 12.0, 2.9, 8.0
LABELS = ("no", "yes")
TARGET = high_confidence(LABELS, "yes")


@dataclass(frozen=True)
class Normal:
    """Standard normal, (3,)."""

    def sample(self, rng: np.random.Generator) -> Floats:
        return rng.standard_normal(3)

    def log_density(self, z: Floats) -> float:
        return float(-0.5 * z @ z - 1.5 * math.log(2.0 * math.pi))


@dataclass(frozen=True)
class StepRenderer:
    """x as one gray pixel."""

    def render(self, zs: Sequence[Floats]) -> list[Dot]:
        return [Dot(np.full((1, 1, 1), np.clip(z[0] / (2 * REACH) + 0.5, 0, 1), np.float32)) for z in zs]


@dataclass(frozen=True)
class StepClassifier:
    """ "yes" beyond the step."""

    labels: tuple[str, ...] = LABELS

    def log_probs(self, images: Pixels) -> Floats:
        """(B, 1, 1, 1) -> (B, 2)."""
        return answers((images[:, 0, 0, 0].astype(np.float64) - 0.5) * 2 * REACH)


def answers(x: Floats) -> Floats:
    """(n,) -> (n, 2)."""
    odds = SLOPE * (x - STEP)
    found: Floats = -np.logaddexp(0.0, np.stack([odds, -odds], axis=-1))
    return found


def mass() -> float:
    """The exact mean of weight / peak."""

    def part(x: float) -> float:
        relative = TARGET.log_weight(answers(np.array(x))) - TARGET.log_peak
        return math.exp(relative - 0.5 * x * x) / math.sqrt(2.0 * math.pi)

    return float(quad(part, -REACH, REACH, points=[STEP], limit=400)[0])


def step_kernel() -> Metropolis[Floats]:
    """A random walk, of half a standard deviation."""
    return Metropolis(
        Normal(), GaussianWalk(0.5), Scorer(StepRenderer(), StepClassifier(), batch=256), TARGET
    )
