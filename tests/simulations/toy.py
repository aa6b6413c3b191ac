"""A world small enough to check by hand: points of the unit square, each shown as one colored pixel.

It is the fake of every protocol: `SquarePrior`, `PixelRenderer` and `PixelClassifier` satisfy the protocols of
`inference.types`, cost microseconds, and have exact answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trex.inference.types import Floats, Pixels


@dataclass(frozen=True)
class SquarePrior:
    """Uniform on the part of the unit square where the coordinates differ by at least `gap`, as objects must."""

    gap: float = 0.2

    def sample(self, rng: np.random.Generator) -> Floats:
        """(2,)."""
        while True:  # rejection sampling: exact for a uniform prior
            z = rng.random(2)
            if abs(z[0] - z[1]) >= self.gap:
                return z

    def log_density(self, z: Floats) -> float:
        """-log area inside, -inf outside."""
        x, y = z.tolist()
        inside = 0.0 <= x < 1.0 and 0.0 <= y < 1.0 and abs(x - y) >= self.gap
        return -2.0 * math.log(1.0 - self.gap) if inside else -math.inf


@dataclass(frozen=True)
class Pixel:
    """A picture of one pixel: uint8 (1, 1, 3)."""

    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class PixelRenderer:
    """Renders x as red and y as green; blue is 0."""

    key: str = "toy"

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        """One pixel each."""
        colors = np.zeros((len(zs), 1, 1, 3), np.uint8)
        colors[:, 0, 0, :2] = np.clip(np.array(zs) * 256.0, 0.0, 255.0)
        return [Pixel(color) for color in colors]


@dataclass(frozen=True)
class PixelClassifier:
    """Three answers; the logits are `slope` * (red, green, blue + .5)."""

    slope: float = 6.0
    labels: tuple[str, ...] = ("red", "green", "blue")

    def log_probs(self, images: Pixels) -> Floats:
        """(B, 1, 1, 3) -> (B, 3)."""
        logits = self.slope * (images[:, 0, 0, :].astype(np.float64) + np.array([0.0, 0.0, 0.5]))
        logits -= logits.max(axis=1, keepdims=True)
        log_probs: Floats = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return log_probs
