"""ResNet-18 for small pictures (He et al. 2016, https://arxiv.org/abs/1512.03385, figure 3 and table 1).

Its stem is one convolution 3x3 of stride 1 without pooling, as that paper's own networks for 32 pixels begin (its
section 4.2): ImageNet's stem would leave 8x8 of 32x32. Weights start as in its reference 13 (He et al. 2015).
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

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
    """Pictures (B, channels, H, W) in [0, 1] to logits (B, K); `features` gives (B, 8 * width)."""

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
