"""The training loss: positions of objects' centers, and attributes there."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from trex.clevr_models.interface.program_kinds import ATTRIBUTE_VALUES
from trex.clevr_models.percept.network import GRID
from trex.clevr_models.percept.object_table import split_maps

SPREAD = 1.0  # cells: how far a center's neighbors are excused (Zhou et al. 2019, "Objects as Points")
EXCUSE = 4.0  # power of the excuse, likewise
NEIGHBOR_WEIGHT = 0.3  # of the cells around a center, in learning attributes and positions
POSITION_WEIGHT = 2.0


class Labels(NamedTuple):
    """A batch of true scenes, as in percept_data.Scenes."""

    numbers: Tensor  # (B,) objects in each
    cells: Tensor  # (B, 10, 2)
    attributes: Tensor  # (B, 10, 4)
    positions: Tensor  # (B, 10, 2)


class Loss(NamedTuple):
    """The parts of the loss, each a mean; training minimizes `total`."""

    total: Tensor
    presence: Tensor
    attributes: Tensor
    position: Tensor


def grid_loss(maps: Tensor, labels: Labels) -> Loss:
    """The loss of the network's maps (B, 18, 40, 60)."""
    fields = split_maps(maps)
    distance, owner = _nearest(labels)  # squared, in cells; (B, 40, 60) each
    presence = _presence_loss(fields["presence"][:, 0], distance, labels.numbers.sum())
    weight = torch.where(distance == 0, 1.0, torch.where(distance <= 2, NEIGHBOR_WEIGHT, 0.0))
    at = weight > 0
    batch, rows, columns = at.nonzero(as_tuple=True)
    item = owner[at]
    weights = weight[at] / weight[at].sum().clamp_min(1.0)
    attributes = presence.new_zeros(())
    for slot, name in enumerate(ATTRIBUTE_VALUES):
        logits = fields[name].permute(0, 2, 3, 1)[batch, rows, columns]  # (M, V)
        wrong = functional.cross_entropy(logits, labels.attributes[batch, item, slot], reduction="none")
        attributes = attributes + (wrong * weights).sum()
    places = fields["position"].permute(0, 2, 3, 1)[batch, rows, columns]  # (M, 2)
    off = functional.smooth_l1_loss(places, labels.positions[batch, item], beta=0.2, reduction="none").sum(
        dim=1
    )
    position = (off * weights).sum()
    return Loss(presence + attributes + POSITION_WEIGHT * position, presence, attributes, position)


def _nearest(labels: Labels) -> tuple[Tensor, Tensor]:
    """For each cell the squared distance to the nearest center, and whose center it is."""
    device = labels.cells.device
    rows = torch.arange(GRID[0], device=device)[:, None]
    columns = torch.arange(GRID[1], device=device)[None, :]
    centers = labels.cells[:, :, :, None, None]  # (B, 10, 2, 1, 1)
    squared = (centers[:, :, 0] - rows) ** 2 + (centers[:, :, 1] - columns) ** 2  # (B, 10, 40, 60)
    least = squared.min(dim=1)
    return least.values, least.indices


def _presence_loss(logits: Tensor, distance: Tensor, objects: Tensor) -> Tensor:
    """Cross entropy of "a center is here", a mean over objects; cells beside a center are nearly excused."""
    excuse = 1.0 - torch.exp(-distance / (2.0 * SPREAD**2))
    here = (distance == 0).to(logits.dtype)
    weight = torch.where(distance == 0, 1.0, excuse**EXCUSE)
    wrong = functional.binary_cross_entropy_with_logits(logits, here, weight=weight, reduction="sum")
    return wrong / objects.clamp_min(1)
