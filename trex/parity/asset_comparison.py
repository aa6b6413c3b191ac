"""What a comparison of our assets with CLEVR's published ones measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trex.render.picture import Picture
from trex.scenes.scene import Scene

NEEDED_SSIM = 0.95  # on average


@dataclass(frozen=True)
class PairRow:
    """One scene: similarity, mean absolute difference, and that of the ground (ours - published), of 255."""

    scene: Scene
    ours: Picture
    published: Picture
    ssim: float
    mean_abs_diff: float
    ground_diff: float


@dataclass(frozen=True)
class ColorRow:
    """The mean color (RGB, 0-255) of all objects of one shape and material, in our pictures and in theirs."""

    shape: str
    material: str
    n_objects: int
    ours: tuple[float, float, float]
    published: tuple[float, float, float]


@dataclass(frozen=True)
class AssetComparison:
    """What was measured, and whether it is alike enough."""

    preset: str
    seed: int
    pairs: tuple[PairRow, ...]
    colors: tuple[ColorRow, ...]

    @property
    def mean_ssim(self) -> float:
        """The mean over the scenes."""
        return float(np.mean([row.ssim for row in self.pairs]))

    @property
    def is_alike(self) -> bool:
        """Whether the mean similarity reaches what is asked for."""
        return self.mean_ssim >= NEEDED_SSIM
