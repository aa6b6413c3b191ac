"""Small torch modules and callables that are asked as objects, and the same module by its name."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question

NAMED = "tests.worlds.live_models:redness"  # the module below, by its name


class Redness(nn.Module):
    """The share of each color decides the answer; a sharp one, so that some pictures are hits."""

    def __init__(self, seed: int = 1, factor: float = 60.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(factor * torch.randn(3, len(ANSWERS), generator=generator))

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 28)."""
        return images.mean(dim=(2, 3)) @ self.weight


class Blueness(Redness):
    """The same weights, another answer."""

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 28)."""
        return super().forward(images.flip(1))


def redness(question: Question) -> nn.Module:
    """For `package.module:factory`."""
    return Redness()


def uniform(pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
    """Knows nothing, and says so."""
    return np.full((len(pictures), len(ANSWERS)), 1 / len(ANSWERS))


class Scaled:
    """A callable with a setting: sure of "0" as much as `share`."""

    labels = ("0", "2")

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        return np.tile([self.share, 1 - self.share], (len(pictures), 1))
