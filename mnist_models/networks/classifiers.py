"""The classifiers under test: the paper's, and LeNet.

Where the paper's appendix B and its published code differ, we follow the code, which made the published numbers: no
ReLU after the second convolution. Its dropout of whole channels, applied to a matrix, drops single numbers; so does
ours. Its softmax is part of our loss, which is the same function without rounding to 0 or 1.
"""

from __future__ import annotations

from torch import Tensor, nn

from trex.mnist_models.data.layout import DIGIT, Shape

FEATURES = {"classifier": 128, "lenet": 500}  # width of the last hidden layer


class Classifier(nn.Module):
    """Pictures (B, 1, 28, 28) in [0, 1] to logits (B, K)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3),  # 26x26
            nn.ReLU(),
            nn.Conv2d(32, 64, 3),  # 24x24
            nn.MaxPool2d(2),  # 12x12
            nn.Dropout(0.25),
            nn.Flatten(),
            nn.Linear(9216, FEATURES["classifier"]),
            nn.ReLU(),
        )
        self.answer = nn.Sequential(nn.Dropout(0.5), nn.Linear(FEATURES["classifier"], classes))

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.answer(self.features(images))
        return logits


class LeNet(nn.Module):
    """LeCun et al. 1998, as in Caffe and the ADDA baseline: pictures (B, C, H, W) in [0, 1] to logits (B, K)."""

    def __init__(self, classes: int, picture: Shape = DIGIT) -> None:
        super().__init__()
        height, width, channels = picture
        self.features = nn.Sequential(
            nn.Conv2d(channels, 20, 5),  # 24x24 of a digit
            nn.ReLU(),
            nn.MaxPool2d(2),  # 12x12
            nn.Conv2d(20, 50, 5),  # 8x8
            nn.ReLU(),
            nn.MaxPool2d(2),  # 4x4
            nn.Flatten(),  # (C, H, W) order; the published port of ADDA's weights has (H, W, C)
            nn.Linear(50 * _left(height) * _left(width), FEATURES["lenet"]),
            nn.ReLU(),
        )
        self.answer = nn.Linear(FEATURES["lenet"], classes)

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.answer(self.features(images))
        return logits


def _left(side: int) -> int:
    """What two convolutions of 5 and two halvings leave of a side: 4 of 28, 5 of 32."""
    return ((side - 4) // 2 - 4) // 2
