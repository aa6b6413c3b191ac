"""The picture half of the shipped model: 240x160 pixels to a 60x40 grid of evidence, and to a table of objects."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES

INPUT_SIZE = (160, 240)  # height, width
STRIDE = 4  # pixels a cell
GRID = (INPUT_SIZE[0] // STRIDE, INPUT_SIZE[1] // STRIDE)
START_LOG_ODDS = -5.0  # presence before training: about 7 of 2,400 cells hold an object's center


FINE, MIDDLE, COARSE, HEAD = 48, 96, 128, 64  # channels at stride 4, 8 and 16, and before the last layer


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
    """Pixels (B, 3, 160, 240) in [0, 1] to maps (B, 18, 40, 60): FIELDS, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.PixelUnshuffle(2), Unit(12, FINE, stride=2))
        self.fine = Residual(FINE)
        self.middle = nn.Sequential(Unit(FINE + 2, MIDDLE, stride=2), Residual(MIDDLE), Residual(MIDDLE))
        self.coarse = nn.Sequential(Unit(MIDDLE, COARSE, stride=2), Residual(COARSE))
        self.overall = nn.Linear(COARSE, COARSE)
        self.coarse_up = nn.Conv2d(COARSE, MIDDLE, 1)
        self.middle_up = nn.Conv2d(MIDDLE, FINE, 1)
        self.join = Unit(FINE + 2, HEAD)
        self.head = nn.Conv2d(HEAD, sum(CHANNELS.values()), 1)
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


CANDIDATES = 24  # rows of a table: CLEVR has at most 10 objects, the rest are doubtful peaks
FIELDS = ("presence", *ATTRIBUTE_VALUES, "position")
CHANNELS = {"presence": 1, **{name: len(values) for name, values in ATTRIBUTE_VALUES.items()}, "position": 2}
ABSENT = -40.0  # log odds of a padding row


class ObjectTable(NamedTuple):
    """K candidate objects for each of B pictures, independent of each other."""

    presence: Tensor  # (B, K) probability that there is such an object
    shape: Tensor  # (B, K, 3) probabilities, summing to 1; likewise the next three
    size: Tensor  # (B, K, 2)
    color: Tensor  # (B, K, 8)
    material: Tensor  # (B, K, 2)
    position: Tensor  # (B, K, 2) along CLEVR's right and behind directions, Blender units
    related: Tensor  # (B, 4, K, K) probability that j (last) lies left/right/front/behind of i

    def attribute(self, name: str) -> Tensor:
        """(B, K, V): the probabilities of the values of shape, size, color or material."""
        return {"shape": self.shape, "size": self.size, "color": self.color, "material": self.material}[name]

    def take(self, rows: Tensor) -> ObjectTable:
        """The tables of the pictures `rows` (Q,), which may repeat."""
        return ObjectTable(*(field[rows] for field in self))

    def double(self) -> ObjectTable:
        return ObjectTable(*(field.double() for field in self))


class Evidence(NamedTuple):
    """The network's raw results at K peaks of B pictures: logits, and positions in Blender units."""

    presence: Tensor  # (B, K)
    shape: Tensor  # (B, K, 3)
    size: Tensor  # (B, K, 2)
    color: Tensor  # (B, K, 8)
    material: Tensor  # (B, K, 2)
    position: Tensor  # (B, K, 2)
    cell: Tensor  # (B, K) index of the grid cell, row-major


def split_maps(maps: Tensor) -> dict[str, Tensor]:
    """The network's maps (B, 18, h, w) by field: each (B, channels, h, w)."""
    return dict(zip(FIELDS, torch.split(maps, [CHANNELS[name] for name in FIELDS], dim=1), strict=True))


def find_peaks(maps: Tensor) -> Evidence:
    """The strongest local maxima (in 3x3 cells) of the presence map, with the maps' values there."""
    presence = maps[:, 0]  # (B, h, w)
    highest = nn.functional.max_pool2d(presence[:, None], 3, stride=1, padding=1)[:, 0]
    peaks = torch.where(presence >= highest, presence, ABSENT).flatten(1)  # (B, h*w)
    logits, cells = peaks.topk(CANDIDATES, dim=1)  # (B, K)
    tensor = maps[:, 1:].flatten(2)  # (B, 17, h*w)
    found = tensor.gather(2, cells[:, None].expand(-1, tensor.shape[1], -1)).transpose(1, 2)  # (B, K, 17)
    shape, size, color, material, position = torch.split(
        found, [CHANNELS[name] for name in FIELDS[1:]], dim=2
    )
    return Evidence(logits, shape, size, color, material, position, cells)


class Calibration(nn.Module):
    """The few numbers between evidence and probabilities, fitted on scenes kept out of the training."""

    def __init__(self) -> None:
        super().__init__()
        self.presence_scale = nn.Parameter(torch.tensor(1.0))
        self.presence_shift = nn.Parameter(torch.tensor(0.0))
        self.attribute_scale = nn.Parameter(torch.ones(len(ATTRIBUTE_VALUES)))
        # CLEVR: j is right of i where it lies over .2 further right (clevr-dataset-gen, render_images.py)
        self.relation_margin = nn.Parameter(torch.tensor(0.2))
        self.relation_log_scale = nn.Parameter(torch.tensor(3.0))  # log of the steepness, per Blender unit

    def forward(self, evidence: Evidence) -> ObjectTable:
        presence = torch.sigmoid(evidence.presence * self.presence_scale + self.presence_shift)
        logits = (evidence.shape, evidence.size, evidence.color, evidence.material)
        scaled = [
            torch.softmax(field * scale, dim=2)
            for field, scale in zip(logits, self.attribute_scale, strict=True)
        ]
        related = relate_all(evidence.position, self.relation_margin, self.relation_log_scale.exp())
        shape, size, color, material = scaled
        return ObjectTable(presence, shape, size, color, material, evidence.position, related)


def relate_all(position: Tensor, margin: Tensor, steepness: Tensor) -> Tensor:
    """(B, 4, K, K): how surely j lies left, right, in front of, behind i; from positions (B, K, 2)."""
    offset = position[:, None, :, :] - position[:, :, None, :]  # (B, i, j, 2)
    right, behind = offset[..., 0], offset[..., 1]
    ahead = torch.stack((-right, right, -behind, behind), dim=1)  # (B, 4, i, j)
    others = 1.0 - torch.eye(position.shape[1], dtype=position.dtype, device=position.device)
    return torch.sigmoid((ahead - margin) * steepness) * others
