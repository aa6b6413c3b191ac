"""Two further small classifiers, for committees whose members should not all err alike."""

from __future__ import annotations

import math

from torch import Tensor, nn

from trex.mnist_models.data.layout import DIGIT, Shape


class Perceptron(nn.Module):
    """Pixels-256-K: pictures (B, C, H, W) in [0, 1] to logits (B, K)."""

    def __init__(self, classes: int, picture: Shape = DIGIT) -> None:
        super().__init__()
        pixels = math.prod(picture)
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(pixels, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, classes)
        )

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.layers(images)
        return logits


class Strided(nn.Module):
    """Two convolutions 5x5 with stride 2, then 64: pictures (B, C, H, W), sides multiples of 4, to logits (B, K)."""

    def __init__(self, classes: int, picture: Shape = DIGIT) -> None:
        super().__init__()
        height, width, channels = picture
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 16, 5, stride=2, padding=2),  # 14x14 of a digit
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2, padding=2),  # 7x7
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * (height // 4) * (width // 4), 64),
            nn.ReLU(),
            nn.Linear(64, classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.layers(images)
        return logits
