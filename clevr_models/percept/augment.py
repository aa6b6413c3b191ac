"""Augmentation of training pictures without changing the truth: mirroring, brightness, noise."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trex.clevr_models.percept.network import GRID
from trex.clevr_models.percept.training_data import Scenes

MIRRORED = 0.5  # share of pictures
BRIGHTNESS = 0.1  # a factor within 1 - .1 and 1 + .1
NOISE = 0.02  # largest standard deviation of the noise; hides the difference between few and many samples


def mirror(scenes: Scenes, rng: np.random.Generator) -> Scenes:
    """Half of the scenes mirrored: left and right change places, as CLEVR's camera looks along its "behind".

    Nothing else of the truth changes (the lights do: they are not symmetric).
    """
    turned = rng.random(len(scenes.numbers)) < MIRRORED
    pictures, cells, positions = scenes.pictures.copy(), scenes.cells.copy(), scenes.positions.copy()
    pictures[turned] = pictures[turned, :, ::-1]
    cells[turned, :, 1] = GRID[1] - 1 - cells[turned, :, 1]
    positions[turned, :, 0] *= -1.0
    return scenes._replace(pictures=pictures, cells=cells, positions=positions)


def disturb(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """(B, 3, H, W) with a brightness and an amount of noise of its own for each picture; on the generator's device."""
    batch, device = (len(pixels), 1, 1, 1), generator.device
    factor = 1.0 + BRIGHTNESS * (2.0 * torch.rand(batch, generator=generator, device=device) - 1.0)
    amount = NOISE * torch.rand(batch, generator=generator, device=device)
    noise = torch.randn(pixels.shape, generator=generator, device=device).to(
        memory_format=torch.channels_last
    )
    return (pixels * factor + noise * amount).clamp(0.0, 1.0)
