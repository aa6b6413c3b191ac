"""Trained networks as searches use them: classifiers to log probabilities, decoders to pictures, and autoencoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.foundation.errors import InputError, ModelError
from trex.mnist_models.pictures import DIGIT, Shape, from_planes, planes


@dataclass(frozen=True, eq=False)
class DigitClassifier:
    """A trained network with the names of its K classes; `module` goes from (B, C, H, W) to logits (B, K)."""

    name: str
    module: nn.Module
    labels: tuple[str, ...]
    dataset: str
    sha256: str  # of the weights and, for an object of the user's session, of its code
    picture: Shape = DIGIT  # height, width and channels

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """(B, H, W, C) in [0, 1] -> (B, K), natural log; scored one at a time, so that no row depends on another."""
        check_pictures(images, self.picture)
        pixels = torch.from_numpy(planes(images))
        with torch.inference_mode():
            # Clones, as a module may normalize its input in place, and `pixels` may share the picture's memory.
            rows = [self.differentiable_log_probs(picture[None].clone()) for picture in pixels]
        return torch.cat(rows).numpy() if rows else np.zeros((0, len(self.labels)))

    def differentiable_log_probs(self, pixels: Tensor) -> Tensor:
        """(B, C, H, W) in [0, 1] -> (B, K) in float64: logs that do not saturate where probabilities do."""
        logits: Tensor = self.module(pixels)
        return logits.double().log_softmax(dim=1)


def check_pictures(images: NDArray[np.float32], picture: Shape) -> None:
    """Raise ModelError unless images are float32 (B, H, W, C) of this shape, in [0, 1]."""
    if images.dtype != np.float32 or images.shape[1:] != picture:
        wanted = ", ".join(map(str, picture))
        raise ModelError(
            f"pictures are {images.dtype} {images.shape}; a digit model needs float32 (B, {wanted}) in [0, 1]"
        )
    if images.size and not (float(images.min()) >= 0.0 and float(images.max()) <= 1.0):
        raise ModelError(f"pixels reach from {images.min():g} to {images.max():g}; they must lie in [0, 1]")


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
