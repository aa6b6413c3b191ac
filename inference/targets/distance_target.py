"""An easier level set of the same kind: everything within some distance of another target.

Its prior mass follows from a prior batch, which makes it the positive control of a search without hits.
"""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError
from trex.inference.targets.arrays import Array, at_least, largest, stack
from trex.inference.targets.gaussian import GaussianTarget, gaussian_target
from trex.inference.types import Floats


@dataclass(frozen=True)
class Distance:
    """max(d, radius), where d is the largest gap between the target's statistic and its observed value, in widths."""

    target: GaussianTarget
    radius: float

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        return stack([at_least(distance(self.target, probs), self.radius)])

    def confidence(self, probs: Floats) -> float:
        """The inner target's confidence."""
        return self.target.statistic.confidence(probs)

    def describe(self) -> str:
        """The inner target and the radius."""
        return f"distance from [{self.target.describe()}] of at most {self.radius:.4g} widths"


def distance(target: GaussianTarget, probs: Array) -> Array:
    """(..., K) -> (...): the largest gap between the target's statistic and its observed value, in widths."""
    return largest(abs(target.gaps_in_widths(probs)))


def distance_target(target: GaussianTarget, radius: float, width: float = 1.0) -> GaussianTarget:
    """Flat within `radius` widths of the target, a half-Gaussian of `width` (in the target's widths) outside."""
    if not radius >= 0.0:
        raise InputError(f"radius {radius} must not be negative")
    return gaussian_target(Distance(target, radius), (radius,), width, tolerance=0.0)
