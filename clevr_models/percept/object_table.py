"""A picture's content as estimated: a table of candidate objects with probabilities, differentiable."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from trex.clevr_models.interface.program_kinds import ATTRIBUTE_VALUES

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


def find_peaks(maps: Tensor, candidates: int = CANDIDATES) -> Evidence:
    """The strongest local maxima (in 3x3 cells) of the presence map, with the maps' values there."""
    presence = maps[:, 0]  # (B, h, w)
    highest = nn.functional.max_pool2d(presence[:, None], 3, stride=1, padding=1)[:, 0]
    peaks = torch.where(presence >= highest, presence, ABSENT).flatten(1)  # (B, h*w)
    logits, cells = peaks.topk(candidates, dim=1)  # (B, K)
    rest = maps[:, 1:].flatten(2)  # (B, 17, h*w)
    found = rest.gather(2, cells[:, None].expand(-1, rest.shape[1], -1)).transpose(1, 2)  # (B, K, 17)
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
