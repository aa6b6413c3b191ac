"""ResNet-101 (He et al. 2016) up to its third stage, with its preprocessing: the features of CLEVR's models.

Layers and tensors are named as in torchvision's `resnet101`, whose first ImageNet weights (IMAGENET1K_V1) the
released models were trained on.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from trex.clevr_models.bicubic import resize_8bit

SIDE_PX = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.224)  # the last should be 0.225, but the released models were trained with this error
FEATURES = (1024, 14, 14)
BLOCKS = (3, 4, 23, 3)  # ResNet-101
TRUNK = ("conv1.", "bn1.", "layer1.", "layer2.", "layer3.")


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolution around a shortcut; the stride is on the 3x3."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = (
            nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
            if stride != 1 or inputs != outputs
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 4 width, H / stride, W / stride)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return torch.relu(self.bn3(self.conv3(x)) + shortcut)


def _stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    bottlenecks = [Bottleneck(4 * width, width, 1) for _ in range(blocks - 1)]
    return nn.Sequential(Bottleneck(inputs, width, stride), *bottlenecks)


class ResNet(nn.Module):
    """torchvision's `resnet101`, name for name; with `trunk` without its last stage and its classifier."""

    def __init__(self, trunk: bool = True, blocks: tuple[int, ...] = BLOCKS) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = _stage(64, 64, blocks[0], 1)
        self.layer2 = _stage(256, 128, blocks[1], 2)
        self.layer3 = _stage(512, 256, blocks[2], 2)
        if not trunk:
            self.layer4 = _stage(1024, 512, blocks[3], 2)
            self.fc = nn.Linear(2048, 1000)

    def forward(self, images: Tensor) -> Tensor:
        """Pictures (B, 3, H, W) in [0, 1] -> features (B, 1024, 14, 14)."""
        x = torch.relu(self.bn1(self.conv1(normalize(images))))
        found: Tensor = self.layer3(self.layer2(self.layer1(self.maxpool(x))))
        return found


def normalize(images: Tensor) -> Tensor:
    """(B, 3, H, W) in [0, 1] -> (B, 3, 224, 224), resized as Pillow does (aspect ignored), less mean, by deviation."""
    x = resize_8bit(images, SIDE_PX, SIDE_PX) / 255
    mean, std = (
        torch.tensor(values, dtype=x.dtype, device=x.device)[:, None, None] for values in (MEAN, STD)
    )
    return ((x - mean) / std).float()


def trunk_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a whole network up to the third stage."""
    return {name: tensor for name, tensor in state.items() if name.startswith(TRUNK)}
