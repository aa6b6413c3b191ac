"""A target in the space of the logits, where it distinguishes what saturated probabilities do not.

Where softmax saturates, the weights of nearly all latents are equally tiny. Applied to softmax(logits / T), as on the
path of `trex.inference.nuts.chain`, the same target has a slope wherever the logits have one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.types import Floats, Target

SPREAD = (
    4.0  # nats between the largest and the smallest log probability at the temperature that suits an answer
)


@dataclass(frozen=True)
class Closeness:
    """How close answers are to a target: its log weight relative to the peak, at a temperature. 0 is exact."""

    target: Target
    temperature: float

    def __call__(self, log_probs: Floats) -> float:
        """(K,) -> at most 0."""
        return self.target.log_weight(tempered(log_probs, self.temperature)) - self.target.log_peak


@dataclass(frozen=True)
class Above:
    """The target whose level set is {closeness >= level}, all of it with the same weight and nothing else with any."""

    closeness: Closeness
    level: float
    log_peak: float = 0.0

    def log_weight(self, log_probs: Floats) -> float:
        """(K,) -> 0 inside, -inf outside."""
        return 0.0 if self.closeness(log_probs) >= self.level else -math.inf

    def simulate(self, rng: np.random.Generator, log_probs: Floats) -> Above:
        """Itself: nothing is observed with noise."""
        return self

    def is_hit(self, log_probs: Floats) -> bool:
        """Whether these answers are inside."""
        return self.closeness(log_probs) >= self.level

    def confidence(self, log_probs: Floats) -> float:
        """The target's."""
        return self.closeness.target.confidence(log_probs)

    def describe(self) -> str:
        """The target and the level in words."""
        return f"{self.closeness.target.describe()}; closeness of at least {self.level:.3g}"


def tempered(log_probs: Floats, temperature: float) -> Floats:
    """(K,) -> (K,): log softmax(logits / temperature); the same at 1."""
    if temperature == 1.0:
        return log_probs
    lower = log_probs / temperature
    lower = lower - lower.max()
    found: Floats = lower - math.log(float(np.exp(lower).sum()))
    return found


def top_temperature(log_probs: Sequence[Floats]) -> float:
    """The temperature at which the median answer (K,) spans `SPREAD` in log odds; at least 1."""
    spans = [float(np.ptp(row[np.isfinite(row)])) for row in log_probs]
    return max(1.0, float(np.median(spans)) / SPREAD)
