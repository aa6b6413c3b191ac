"""The target as the leading look of surrogate transitions weighs it: flattened, and never 0."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.types import Floats, Target

POWER = 0.03  # benchmarks/kernels/KERNELS.md
LOG_FLOOR = -8.0


@dataclass(frozen=True)
class LeadingTarget:
    """A target's weight as the leading look uses it: log((weight / peak)^power + floor).

    The power flattens what a cheap look gets wrong. The floor keeps a scene that only the deciding look likes from
    being stuck: its ratio stays below 1 / floor. Any function of the latent keeps the kernel exact.
    """

    inner: Target
    power: float = POWER
    log_floor: float = LOG_FLOOR

    def __post_init__(self) -> None:
        if not (0.0 < self.power <= 1.0 and self.log_floor < 0.0):
            raise InputError(
                f"power {self.power:g} and log floor {self.log_floor:g} of a leading look: the power must be in "
                "(0, 1] and the log floor negative"
            )

    @property
    def log_peak(self) -> float:
        """The maximum of `log_weight`."""
        return float(np.logaddexp(0.0, self.log_floor))

    def log_weight(self, log_probs: Floats) -> float:
        """Natural log, from `log_floor` to `log_peak`."""
        relative = self.inner.log_weight(log_probs) - self.inner.log_peak
        return float(np.logaddexp(self.power * relative, self.log_floor))

    def simulate(self, rng: np.random.Generator, log_probs: Floats) -> LeadingTarget:
        """The inner target's simulation, flattened alike."""
        return replace(self, inner=self.inner.simulate(rng, log_probs))

    def is_hit(self, log_probs: Floats) -> bool:
        """Whether these probabilities lie in the inner target's level set."""
        return self.inner.is_hit(log_probs)

    def confidence(self, log_probs: Floats) -> float:
        """The inner target's."""
        return self.inner.confidence(log_probs)

    def describe(self) -> str:
        """The inner target, its power and floor in words."""
        return f"{self.inner.describe()}, to the power {self.power:g}, plus e^{self.log_floor:g}"
