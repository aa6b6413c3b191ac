"""Two further small classifiers, for committees whose members should not all err alike."""

from __future__ import annotations

from torch import Tensor, nn


class Perceptron(nn.Module):
    """784-256-K: pictures (B, 1, 28, 28) in [0, 1] to logits (B, K)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, classes)
        )

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.layers(images)
        return logits


class Strided(nn.Module):
    """Two convolutions 5x5 with stride 2, then 64: pictures (B, 1, 28, 28) in [0, 1] to logits (B, K)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),  # 14x14
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, stride=2, padding=2),  # 7x7
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(1568, 64),
            nn.ReLU(),
            nn.Linear(64, classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.layers(images)
        return logits
