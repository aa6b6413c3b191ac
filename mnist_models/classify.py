"""Classifiers of this world, for searches and for gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trex.foundation.errors import ModelError
from trex.mnist_models.data.layout import DIGIT, Shape, planes


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
