"""Other views of the same pictures, for training on few of them: from elsewhere, from farther away, in other light.

Never mirrored: a mirrored "turn left" is "turn right". The ranges are ours, for pictures of traffic signs.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

TURN_RAD = 0.2
ZOOM = 0.15  # share of the side
SHIFT = 0.06  # share of the side
DETAIL = (1.0, 0.5, 0.3)  # of the pixels along a side; a third of the pictures each
CONTRAST = 0.4  # share
LIGHT = 0.12  # of 1


def varied(images: Tensor) -> Tensor:
    """The pictures (B, C, H, W) in [0, 1], each turned, zoomed, moved, coarsened and lit at random (torch's)."""
    moved = _moved(images)
    which = torch.randint(len(DETAIL), (len(images),), device=images.device)
    for number, share in enumerate(DETAIL):
        if share < 1.0:
            moved = torch.where(_column(which == number), _coarse(moved, share), moved)
    mean = moved.mean((1, 2, 3), keepdim=True)
    contrast, light = 1.0 + _column(_within(images, CONTRAST)), _column(_within(images, LIGHT))
    return (mean + contrast * (moved - mean) + light).clamp(0.0, 1.0)


def _within(images: Tensor, most: float) -> Tensor:
    """(B,) uniform in [-most, most]."""
    return (2.0 * torch.rand(len(images), device=images.device) - 1.0) * most


def _column(values: Tensor) -> Tensor:
    return values[:, None, None, None]


def _moved(images: Tensor) -> Tensor:
    """Turned, zoomed and moved; beyond the edge its pixels go on."""
    angle, zoom = _within(images, TURN_RAD), 1.0 + _within(images, ZOOM)
    right, down = (2.0 * _within(images, SHIFT) for _ in range(2))  # the grid is 2 wide
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    rows = torch.stack([torch.stack([cos, -sin, right], 1), torch.stack([sin, cos, down], 1)], 1)
    grid = functional.affine_grid(rows, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _coarse(images: Tensor, share: float) -> Tensor:
    """With this share of the pixels along each side, enlarged again."""
    size = images.shape[2:]
    small = [max(1, round(share * side)) for side in size]
    few = functional.interpolate(images, small, mode="bilinear", align_corners=False, antialias=True)
    return functional.interpolate(few, list(size), mode="bilinear", align_corners=False)
