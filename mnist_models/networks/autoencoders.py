"""Variational autoencoders (Kingma and Welling 2014): the paper's, with one hidden layer of 400, and Defuse's beta-VAE.

The beta-VAE (Higgins et al. 2017, https://openreview.net/forum?id=Sy2fzU9gl) knows no class. It has convolutions 4x4 of
stride 2 and padding 1 with ReLU, then three dense layers, and their mirror image (Slack et al. 2021, appendix). The
paper prints no padding, and a last layer of as many channels as its others; ours has the picture's. Inside, pictures
have 32 pixels: MNIST's 28 are padded with black by two on each side, and cropped again. The paper prints no initial
weights. Ours keep the variance from layer to layer (He et al. 2015, https://arxiv.org/abs/1502.01852, equation 10):
torch's own shrink it about sixfold in each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.card import LATENT
from trex.mnist_models.pictures import SIDE_PX, Shape

HIDDEN = 400
PIXELS = SIDE_PX * SIDE_PX


class Posterior(NamedTuple):
    """A normal distribution of latents for each picture: mean and log variance, both (B, d)."""

    mean: Tensor
    log_variance: Tensor


class VaeEncoder(nn.Module):
    """Pictures (B, 1, 28, 28) in [0, 1] to the normal distribution of their latents."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(PIXELS, HIDDEN)
        self.mean = nn.Linear(HIDDEN, LATENT)
        self.log_variance = nn.Linear(HIDDEN, LATENT)

    def forward(self, images: Tensor) -> Posterior:
        """The posterior of each picture."""
        hidden = functional.relu(self.hidden(images.flatten(1)))  # (B, 400)
        return Posterior(self.mean(hidden), self.log_variance(hidden))


class VaeDecoder(nn.Module):
    """Latents (B, 5) to pictures (B, 1, 28, 28) in [0, 1], differentiable."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(LATENT, HIDDEN)
        self.pixels = nn.Linear(HIDDEN, PIXELS)

    def logits(self, z: Tensor) -> Tensor:
        """(B, 784), before the sigmoid."""
        logits: Tensor = self.pixels(functional.relu(self.hidden(z)))
        return logits

    def forward(self, z: Tensor) -> Tensor:
        """The mean picture of each latent."""
        return torch.sigmoid(self.logits(z)).reshape(-1, 1, SIDE_PX, SIDE_PX)


class Vae(nn.Module):
    """Encoder and decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = VaeEncoder()
        self.decoder = VaeDecoder()

    def loss(self, images: Tensor) -> Tensor:
        """The negative evidence bound summed over the batch: Bernoulli cross-entropy and the KL term, one draw each."""
        terms = self.terms(images)
        return terms.surprise + terms.kl

    def terms(self, images: Tensor) -> Terms:
        """Both terms of the loss."""
        return evidence_terms(self.encoder, self.decoder.logits, images)


class Terms(NamedTuple):
    """Both terms of the negative evidence bound in nats, each a scalar summed over the batch and its pixels."""

    surprise: Tensor
    kl: Tensor


def evidence_terms(
    encode: Callable[[Tensor], Posterior], logits: Callable[[Tensor], Tensor], images: Tensor
) -> Terms:
    """Bernoulli cross-entropy of images (B, C, H, W) and the KL term, with one draw of z for each."""
    mean, log_variance = (part.float() for part in encode(images))
    z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
    drawn = logits(z).float().flatten(1)  # (B, pixels)
    surprise = functional.binary_cross_entropy_with_logits(drawn, images.flatten(1), reduction="sum")
    return Terms(surprise, kl_to_standard_normal(Posterior(mean, log_variance)))


def kl_to_standard_normal(posterior: Posterior) -> Tensor:
    """KL(posterior || N(0, I)) summed over the batch (Kingma and Welling 2014, appendix B)."""
    mean, log_variance = posterior
    return -0.5 * torch.sum(1.0 + log_variance - mean.square() - log_variance.exp())


INNER_PX = 32
DENSE = 256
START = (64, 2, 2)  # of the decoder's convolutions: 256 numbers, which four doublings make 32 pixels
STRIDE = 2


def filters(picture: Shape) -> int:
    """Of every convolution, as published: 32 for one channel, 64 for color."""
    return 32 if picture[2] == 1 else 64


def margin_px(picture: Shape) -> int:
    """What is padded on each side; pictures are square, with at most 32 pixels and an even number of them."""
    height, width, _ = picture
    assert height == width <= INNER_PX and height % 2 == 0, picture
    return (INNER_PX - height) // 2


def _initialize(layers: nn.Sequential) -> None:
    """Normal weights of variance 2 / fan-in before a ReLU and 1 / fan-in in the last layer; biases 0.

    A pixel of a transposed convolution sums over only 1 / stride^2 of its kernel.
    """
    weighted = [layer for layer in layers if isinstance(layer, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d))]
    for layer in weighted:
        is_transposed = isinstance(layer, nn.ConvTranspose2d)
        fan = layer.weight.numel() / layer.weight.shape[1 if is_transposed else 0]
        fan /= STRIDE**2 if is_transposed else 1
        nn.init.normal_(layer.weight, 0.0, sqrt((1.0 if layer is weighted[-1] else 2.0) / fan))
        assert layer.bias is not None
        nn.init.zeros_(layer.bias)


class ConvEncoder(nn.Module):
    """Pictures (B, C, H, W) in [0, 1] to the normal distribution of their d latents."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.margin, width = margin_px(picture), filters(picture)
        self.layers = nn.Sequential(
            *(nn.Conv2d(picture[2], width, 4, 2, 1), nn.ReLU()),  # 16x16
            *(nn.Conv2d(width, width, 4, 2, 1), nn.ReLU()),  # 8x8
            *(nn.Conv2d(width, width, 4, 2, 1), nn.ReLU()),  # 4x4
            nn.Flatten(),
            *(nn.Linear(16 * width, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            nn.Linear(DENSE, 2 * latent),
        )
        _initialize(self.layers)

    def forward(self, images: Tensor) -> Posterior:
        """The posterior of each picture."""
        mean, log_variance = self.layers(functional.pad(images, (self.margin,) * 4)).chunk(2, dim=1)
        return Posterior(mean, log_variance)


class ConvDecoder(nn.Module):
    """Latents (B, d) to pictures (B, C, H, W) in [0, 1], differentiable."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.margin, width = margin_px(picture), filters(picture)
        self.layers = nn.Sequential(
            *(nn.Linear(latent, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            *(nn.Linear(DENSE, DENSE), nn.ReLU()),
            nn.Unflatten(1, START),
            *(nn.ConvTranspose2d(START[0], width, 4, 2, 1), nn.ReLU()),  # 4x4
            *(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU()),  # 8x8
            *(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU()),  # 16x16
            nn.ConvTranspose2d(width, picture[2], 4, 2, 1),  # 32x32
        )
        _initialize(self.layers)

    def logits(self, z: Tensor) -> Tensor:
        """(B, C, H, W), before the sigmoid."""
        inner: Tensor = self.layers(z)
        return functional.pad(inner, (-self.margin,) * 4)

    def forward(self, z: Tensor) -> Tensor:
        """The mean picture of each latent."""
        return self.logits(z).sigmoid()


class BetaVae(nn.Module):
    """Encoder and decoder."""

    def __init__(self, picture: Shape, latent: int) -> None:
        super().__init__()
        self.encoder = ConvEncoder(picture, latent)
        self.decoder = ConvDecoder(picture, latent)

    def terms(self, images: Tensor) -> Terms:
        """Surprise and KL, summed over the batch; the padding counts in neither."""
        return evidence_terms(self.encoder, self.decoder.logits, images)
