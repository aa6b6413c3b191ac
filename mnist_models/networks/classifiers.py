"""Classifiers: the paper's and LeNet, ResNet-18 for small pictures in color, and two small ones for committees.

Where the paper's appendix B and its published code differ, we follow the code, which made the published numbers: no
ReLU after the second convolution. Its dropout of whole channels, applied to a matrix, drops single numbers; so does
ours. Its softmax is part of our loss, which is the same function without rounding to 0 or 1.
"""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.pictures import DIGIT, Shape

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


DEPTHS = (2, 2, 2, 2)  # blocks of each stage: 1 + 2 * 8 + 1 = 18 layers with weights
STRIDES = (1, 2, 2, 2)
WIDTH = 64  # channels of the first stage; each further one doubles them


class Block(nn.Module):
    """Two convolutions 3x3 beside a shortcut, (B, inputs, H, W) to (B, outputs, H / stride, W / stride)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:  # the paper's option B
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """ReLU of the sum of both ways."""
        inner = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.second_norm(self.second(inner)) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al. 2016 (https://arxiv.org/abs/1512.03385, figure 3 and table 1): (B, channels, H, W) to logits (B, K).

    `features` gives (B, 8 * width). Its stem is one convolution 3x3 of stride 1 without pooling, as that paper's own
    networks for 32 pixels begin (section 4.2): ImageNet's would leave 8x8 of 32x32. Weights start as in He et al. 2015.
    """

    def __init__(self, classes: int, channels: int = 3, width: int = WIDTH) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(channels, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        inputs = width
        for stage, (depth, stride) in enumerate(zip(DEPTHS, STRIDES, strict=True)):
            outputs = width * 2**stage
            layers += [Block(inputs, outputs, stride)]
            layers += [Block(outputs, outputs, 1) for _ in range(depth - 1)]
            inputs = outputs
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.answer = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """The logits of each picture."""
        logits: Tensor = self.answer(self.features(images))
        return logits


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


RESNETS = {"resnet18": WIDTH, "resnet18-16": 16}  # channels of the first stage


def classifier_of(kind: str, classes: int, picture: Shape) -> nn.Module:
    """A new classifier of this kind (`card.CLASSIFIERS`) for pictures of this shape."""
    if kind in RESNETS:
        return ResNet18(classes, picture[2], RESNETS[kind])
    return LeNet(classes, picture) if kind == "lenet" else Classifier(classes)
