"""The generative adversarial network: the paper's generator, in the manner of DCGAN (Radford et al. 2016).

The script that the paper's authors published trains another network, of 100 latents and dense layers; what they
sampled from is this one. They describe no discriminator for it: ours is DCGAN's, for 28x28 pictures.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from mnist_models.vae import LATENT


def _up(channels: int, out: int, stride: int, padding: int) -> list[nn.Module]:
    layer = nn.ConvTranspose2d(channels, out, 4, stride, padding, bias=False)
    return [layer, nn.BatchNorm2d(out), nn.ReLU()]


def _down(channels: int, out: int, kernel: int) -> list[nn.Module]:
    layer = nn.Conv2d(channels, out, kernel, 2, 1, bias=False)
    return [layer, nn.BatchNorm2d(out), nn.LeakyReLU(0.2)]


class Generator(nn.Module):
    """Latents (B, 5) to pictures (B, 1, 28, 28) in [0, 1], differentiable; in evaluation mode each by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_up(LATENT, 512, 1, 0),  # 4x4
            *_up(512, 256, 2, 1),  # 8x8
            *_up(256, 128, 2, 1),  # 16x16
            *_up(128, 64, 2, 1),  # 32x32
            nn.ConvTranspose2d(
                64, 1, 1, 1, 2, bias=False
            ),  # 28x28: the padding cuts two pixels off each side
        )
        self.apply(_dcgan_weights)

    def forward(self, z: Tensor) -> Tensor:
        """The picture of each latent."""
        return torch.sigmoid(self.layers(z[:, :, None, None]))


class Discriminator(nn.Module):
    """Pictures (B, 1, 28, 28) in [0, 1] to the log odds (B,) that they are real."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 64, 4, 2, 1, bias=False),  # 14x14; no normalization of the first layer (DCGAN)
            nn.LeakyReLU(0.2),
            *_down(64, 128, 4),  # 7x7
            *_down(128, 256, 3),  # 4x4
            nn.Conv2d(256, 1, 4, bias=False),
        )
        self.apply(_dcgan_weights)

    def forward(self, images: Tensor) -> Tensor:
        """The log odds of each picture."""
        return cast(Tensor, self.layers(images)).flatten()


def discriminator_loss(real: Tensor, drawn: Tensor) -> Tensor:
    """The mean surprise at which pictures are real and which are drawn, from log odds (B,) of either."""
    return functional.softplus(-real).mean() + functional.softplus(drawn).mean()


def generator_loss(drawn: Tensor) -> Tensor:
    """The non-saturating loss (Goodfellow et al. 2014): the surprise that drawn pictures are real."""
    return functional.softplus(-drawn).mean()


def _dcgan_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
