"""The toy of `repair_toy` in 32x32 pixels and color, with tracks of four frames: red and green show its two numbers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from tests.worlds.repair_toy import NAMES, Planted, latents
from trex.inference.rng import stream
from trex.mnist_models.models import Autoencoder, DigitClassifier
from trex.mnist_models.networks.autoencoders import Posterior
from trex.mnist_models.pictures import DataSet, Shape, data_hash, from_planes
from trex.repair.decoders.loaded import Loaded

PICTURE: Shape = (32, 32, 3)
FRAMES = 4  # of a track


class DrawInColor(nn.Module):
    """Latents (B, 2) to pictures (B, 3, 32, 32): all red is the first number, all green the second, blue is 0."""

    def forward(self, z: Tensor) -> Tensor:
        shades = torch.sigmoid(z)
        return torch.cat([shades, torch.zeros_like(shades[:, :1])], 1)[:, :, None, None].expand(-1, 3, 32, 32)


class ReadColor(nn.Module):
    """The inverse of `DrawInColor`, as a posterior with standard deviation .1; a picture with blue is misread."""

    def forward(self, images: Tensor) -> Posterior:
        assert images.shape[1:] == (3, 32, 32) and float(images[:, 2].abs().max()) == 0.0
        mean = torch.logit(images[:, :2].mean((2, 3)).clamp(1e-4, 1 - 1e-4))
        return Posterior(mean, torch.full_like(mean, 2.0 * float(np.log(0.1))))


class PlantedInColor(Planted):
    """`Planted`, wrong near PLANTED, on pictures in color."""

    def __init__(self, height: float) -> None:
        super().__init__(height)
        self.read = ReadColor()


def color_data(split: str, n: int, share: float = 0.2) -> DataSet:
    """Pictures as bytes, this share of them planted; every four rows are frames of one sign."""
    key = ("train", "test").index(split)
    z = latents(stream(5, key), n // FRAMES, share).repeat(FRAMES, axis=0)
    z = z + 0.05 * stream(5, key, 1).standard_normal(z.shape)
    images = np.round(from_planes(DrawInColor()(torch.from_numpy(z)).numpy()) * 255).astype(np.uint8)
    labels = (z[:, 0] > 0).astype(np.uint8)
    groups = np.repeat(np.arange(n // FRAMES), FRAMES) if split == "train" else None
    return DataSet("toy", split, images, labels, NAMES, data_hash(images, labels), groups)


def color_toy(height: float = 20.0) -> Loaded:
    """Generator, planted model and pictures."""
    generator = Autoencoder(
        "color-vae", ReadColor().eval(), DrawInColor().eval(), 2, NAMES, "toy", "0" * 64, PICTURE
    )
    model = DigitClassifier(f"planted {height}", PlantedInColor(height).eval(), NAMES, "toy", "1", PICTURE)
    train, test = color_data("train", 600), color_data("test", 400)
    return Loaded(generator, model, train, test, kind="planted", licence="of the pictures")
