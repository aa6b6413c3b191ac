"""The generative adversarial network: the paper's generator, in the style of DCGAN (Radford et al. 2016).

The script published by the paper's authors trains another network, with 100 latents and dense layers; they sampled
from this one. They describe no discriminator for it: ours is DCGAN's, for 28x28 pictures.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.card import LATENT


class Doubling(nn.ConvTranspose2d):
    """A transposed convolution of 4x4 kernels that doubles the sides, as one matrix product.

    For small pictures and large weights this takes 40% of the time of torch's own in bfloat16 on a CPU
    (reproduce/LOG.md); the numbers are the same up to rounding.
    """

    def __init__(self, channels: int, out: int) -> None:
        super().__init__(channels, out, 4, 2, 1, bias=False)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(B, channels, H, W) -> (B, out, 2H, 2W)."""
        assert output_size is None
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
            return _doubled(x.to(dtype), self.weight.to(dtype))
        return _doubled(x, self.weight)


class Gray(nn.ConvTranspose2d):
    """A transposed convolution of 1x1 kernels to one channel, whose padding removes two pixels from each side."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, 1, 1, 1, 2, bias=False)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        """(B, channels, H, W) -> (B, 1, H - 4, W - 4); a matrix product, since torch's own changes the layout."""
        assert output_size is None
        gray = (x.permute(0, 2, 3, 1) @ self.weight[:, :, 0, 0]).permute(0, 3, 1, 2)
        return gray[:, :, 2:-2, 2:-2]


def _doubled(x: Tensor, weight: Tensor) -> Tensor:
    pictures: Tensor = _Doubled.apply(x, weight)
    return pictures


class _Doubled(torch.autograd.Function):
    """Multiplies each pixel by each weight, then sums what falls on one pixel of the result."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        pixels = x.permute(0, 2, 3, 1).reshape(-1, channels)
        kernels = weight.permute(0, 2, 3, 1).reshape(channels, -1)  # (channels, 4 * 4 * out)
        ctx.save_for_backward(pixels, kernels)
        ctx.shape = batch, height, width
        spread = (pixels @ kernels).view(batch, height, width, 4, 4, -1)
        result = x.new_zeros(batch, 2 * height + 2, 2 * width + 2, spread.shape[-1])
        for row in range(4):
            for column in range(4):
                result[:, row : row + 2 * height : 2, column : column + 2 * width : 2] += spread[
                    :, :, :, row, column
                ]
        return result[:, 1:-1, 1:-1].contiguous().permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        pixels, kernels = ctx.saved_tensors
        batch, height, width = ctx.shape
        padded = functional.pad(gradient.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))
        parts = [
            padded[:, row : row + 2 * height : 2, column : column + 2 * width : 2]
            for row in range(4)
            for column in range(4)
        ]
        spread = torch.stack(parts, 3).reshape(batch * height * width, -1)
        of_x = of_weight = None
        if ctx.needs_input_grad[0]:
            of_x = (spread @ kernels.t()).view(batch, height, width, -1).permute(0, 3, 1, 2)
        if ctx.needs_input_grad[1]:
            of_weight = (pixels.t() @ spread).view(pixels.shape[1], 4, 4, -1).permute(0, 3, 1, 2)
        return of_x, of_weight


def _up(channels: int, out: int, stride: int, padding: int) -> list[nn.Module]:
    layer = nn.ConvTranspose2d(channels, out, 4, stride, padding, bias=False)
    return [layer, nn.BatchNorm2d(out), nn.ReLU()]


def _down(channels: int, out: int, kernel: int) -> list[nn.Module]:
    layer = nn.Conv2d(channels, out, kernel, 2, 1, bias=False)
    return [layer, nn.BatchNorm2d(out), nn.LeakyReLU(0.2)]


class Generator(nn.Module):
    """Latents (B, 5) to pictures (B, 1, 28, 28) in [0, 1], differentiable; independent in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_up(LATENT, 512, 1, 0),  # 4x4
            Doubling(512, 256),  # 8x8
            nn.BatchNorm2d(256),
            nn.ReLU(),
            *_up(256, 128, 2, 1),  # 16x16
            *_up(128, 64, 2, 1),  # 32x32
            Gray(64),  # 28x28
        )
        self.apply(_dcgan_weights)

    def forward(self, z: Tensor) -> Tensor:
        """The picture of each latent."""
        return torch.sigmoid(self.layers(z[:, :, None, None]))


class Discriminator(nn.Module):
    """Pictures (B, 1, 28, 28) to the log odds (B,) that they are real."""

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
        odds: Tensor = self.layers(images)
        return odds.flatten()


def discriminator_loss(real: Tensor, drawn: Tensor) -> Tensor:
    """The mean cross-entropy of real and drawn pictures, from log odds (B,) of each."""
    return functional.softplus(-real).mean() + functional.softplus(drawn).mean()


def generator_loss(drawn: Tensor) -> Tensor:
    """The non-saturating loss (Goodfellow et al. 2014): the cross-entropy of drawn pictures as real ones."""
    return functional.softplus(-drawn).mean()


def _dcgan_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
