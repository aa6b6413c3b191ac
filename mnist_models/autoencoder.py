"""Both halves of a variational autoencoder: pictures to codes and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from trex.mnist_models.data.layout import DIGIT, Shape, from_planes, planes

BATCH = 250  # fixed: the rounding of a row may depend on the size of its batch
Floats = NDArray[np.float64]
Pictures = NDArray[np.float32]


class Codes(NamedTuple):
    """The normal posterior of each picture: mean and standard deviation, both (N, d)."""

    mean: Floats
    deviation: Floats


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A trained encoder (pictures to a `Posterior`) and decoder, in evaluation mode."""

    name: str
    encoder: nn.Module
    decoder: nn.Module
    latent: int
    labels: tuple[str, ...]  # the classes of its training
    dataset: str
    sha256: str
    picture: Shape = DIGIT

    def encode(self, pictures: Pictures) -> Codes:
        """Pictures (N, H, W) or (N, H, W, C) in [0, 1] to their posteriors."""
        means, deviations = [np.zeros((0, self.latent))], [np.zeros((0, self.latent))]
        with torch.inference_mode():
            for start in range(0, len(pictures), BATCH):
                images = torch.from_numpy(planes(pictures[start : start + BATCH]))  # (B, C, H, W)
                mean, log_variance = self.encoder(images)
                means.append(mean.double().numpy())
                deviations.append((0.5 * log_variance.double()).exp().numpy())
        return Codes(np.concatenate(means), np.concatenate(deviations))

    def decode(self, z: Floats) -> Pictures:
        """Codes (N, d) to pictures (N, H, W) or (N, H, W, C) in [0, 1], not rounded."""
        height, width, channels = self.picture
        parts = [np.zeros((0, channels, height, width), np.float32)]
        with torch.inference_mode():
            for start in range(0, len(z), BATCH):
                codes = torch.from_numpy(z[start : start + BATCH].astype(np.float32))
                parts.append(self.decoder(codes).numpy())
        return from_planes(np.concatenate(parts))
