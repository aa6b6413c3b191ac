"""The picture half of the shipped model: 240x160 pixels to a 60x40 grid of evidence about objects."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.clevr_models.percept.object_table import CHANNELS

INPUT_SIZE = (160, 240)  # height, width
STRIDE = 4  # pixels a cell
GRID = (INPUT_SIZE[0] // STRIDE, INPUT_SIZE[1] // STRIDE)
START_LOG_ODDS = -5.0  # presence before training: about 7 of 2,400 cells hold an object's center


class Widths(NamedTuple):
    """Channels at stride 4, 8 and 16, and before the last layer."""

    fine: int = 48
    middle: int = 96
    coarse: int = 128
    head: int = 64


WIDTHS = Widths()


class Unit(nn.Sequential):
    """Convolution, batch normalisation, ReLU."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, kernel: int = 3) -> None:
        conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        super().__init__(conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Residual(nn.Module):
    """relu(x + f(x)), f two 3x3 convolutions (He et al. 2016)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = Unit(width, width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        nn.init.zeros_(self.norm.weight)  # each block begins as the identity

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, h, w), as it came."""
        change: Tensor = self.norm(self.second(self.first(x)))
        return functional.relu(x + change)


class PerceptNetwork(nn.Module):
    """Pixels (B, 3, 160, 240) in [0, 1] to maps (B, 18, 40, 60): object_table.FIELDS, in their order."""

    def __init__(self, widths: Widths = WIDTHS) -> None:
        super().__init__()
        fine, middle, coarse, head = widths
        self.stem = nn.Sequential(nn.PixelUnshuffle(2), Unit(12, fine, stride=2))
        self.fine = Residual(fine)
        self.middle = nn.Sequential(Unit(fine + 2, middle, stride=2), Residual(middle), Residual(middle))
        self.coarse = nn.Sequential(Unit(middle, coarse, stride=2), Residual(coarse))
        self.overall = nn.Linear(coarse, coarse)
        self.coarse_up = nn.Conv2d(coarse, middle, 1)
        self.middle_up = nn.Conv2d(middle, fine, 1)
        self.join = Unit(fine + 2, head)
        self.head = nn.Conv2d(head, sum(CHANNELS.values()), 1)
        self._start()

    def _start(self) -> None:
        bias = self.head.bias
        assert bias is not None
        nn.init.zeros_(bias)
        with torch.no_grad():
            bias[0] = START_LOG_ODDS

    def forward(self, pixels: Tensor) -> Tensor:
        """(B, 18, 40, 60): the maps."""
        return self.evidence(self.features(pixels))

    def features(self, pixels: Tensor) -> Tensor:
        """(B, 64, 40, 60): what the last layer reads. May run in a lower precision."""
        fine = self.fine(self.stem((pixels - 0.5) * 4.0))  # (B, 48, 40, 60)
        place = _coordinates(fine)
        middle = self.middle(torch.cat((fine, place), dim=1))  # (B, 96, 20, 30)
        coarse = self.coarse(middle)  # (B, 128, 10, 15)
        overall = self.overall(coarse.mean(dim=(2, 3)))[:, :, None, None]  # where the camera stands
        middle = functional.relu(middle + _enlarge(self.coarse_up(functional.relu(coarse + overall))))
        fine = functional.relu(fine + _enlarge(self.middle_up(middle)))
        joined: Tensor = self.join(torch.cat((fine, place), dim=1))
        return joined

    def evidence(self, features: Tensor) -> Tensor:
        """(B, 18, 40, 60): logits, and positions in Blender units. Always float32."""
        evidence: Tensor = self.head(features.float())
        return evidence


def _enlarge(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


def _coordinates(like: Tensor) -> Tensor:
    """(B, 2, h, w): each cell's place in the picture, in [-1, 1]."""
    height, width = like.shape[2:]
    across = torch.linspace(-1.0, 1.0, width, dtype=like.dtype, device=like.device).expand(height, width)
    down = torch.linspace(-1.0, 1.0, height, dtype=like.dtype, device=like.device)[:, None].expand(
        height, width
    )
    return torch.stack((across, down)).expand(like.shape[0], -1, -1, -1)
