"""Decoders as renderers: latents to pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.foundation.errors import InputError
from trex.mnist_models.data.layout import DIGIT, Shape


@dataclass(frozen=True, eq=False)
class DigitPicture:
    """A drawn picture, not rounded: pixels float32 (H, W, C) in [0, 1], 0 black."""

    pixels: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class DecoderRenderer:
    """A trained decoder, in evaluation mode. `key` identifies everything that determines a picture besides its latent.

    Pictures are not rounded to bytes before they are scored, so samplers with gradients (`pixels`) and without
    (`render`) have the same density as target. Pictures saved for display are bytes.
    """

    name: str
    decoder: nn.Module
    latent: int
    key: str
    labels: tuple[str, ...]  # the classes of its training
    dataset: str
    picture: Shape = DIGIT

    def render(self, zs: Sequence[NDArray[np.float64]]) -> list[DigitPicture]:
        """One picture for each latent (d,); decoded one at a time, so that none depends on another."""
        with torch.inference_mode():
            return [
                DigitPicture(self.pixels(self._row(z))[0].permute(1, 2, 0).contiguous().numpy()) for z in zs
            ]

    def pixels(self, z: Tensor) -> Tensor:
        """Latents (B, d) -> pictures (B, C, H, W) in [0, 1], not rounded, differentiable."""
        pictures: Tensor = self.decoder(z)
        return pictures

    def close(self) -> None:
        """Do nothing: it holds no resources."""

    def _row(self, z: NDArray[np.float64]) -> Tensor:
        if z.shape != (self.latent,):
            raise InputError(f"latent {z.shape} is not ({self.latent},), which {self.name} decodes")
        return torch.from_numpy(np.asarray(z, np.float32)[None])
