"""The results of comparing our assets with CLEVR's published ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trex.render.picture import Picture
from trex.scenes.scene import Scene

NEEDED_SSIM = 0.95  # required mean


@dataclass(frozen=True)
class PairRow:
    """One scene: SSIM, mean absolute difference, and difference of the ground (ours - published), of 255."""

    scene: Scene
    ours: Picture
    published: Picture
    ssim: float
    mean_abs_diff: float
    ground_diff: float


@dataclass(frozen=True)
class ColorRow:
    """The mean color (RGB, 0-255) of all objects of one shape and material, in our and the published pictures."""

    shape: str
    material: str
    n_objects: int
    ours: tuple[float, float, float]
    published: tuple[float, float, float]


@dataclass(frozen=True)
class AssetComparison:
    """The measurements, and whether the assets are similar enough."""

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
        """Whether the mean SSIM reaches NEEDED_SSIM."""
        return self.mean_ssim >= NEEDED_SSIM
