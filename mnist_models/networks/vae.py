"""The paper's variational autoencoder (Kingma and Welling 2014): one hidden layer of 400."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.card import LATENT
from trex.mnist_models.data.labelled import SIDE_PX

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
    mean, log_variance = (one.float() for one in encode(images))
    z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
    drawn = logits(z).float().flatten(1)  # (B, pixels)
    surprise = functional.binary_cross_entropy_with_logits(drawn, images.flatten(1), reduction="sum")
    return Terms(surprise, kl_to_standard_normal(Posterior(mean, log_variance)))


def kl_to_standard_normal(posterior: Posterior) -> Tensor:
    """KL(posterior || N(0, I)) summed over the batch (Kingma and Welling 2014, appendix B)."""
    mean, log_variance = posterior
    return -0.5 * torch.sum(1.0 + log_variance - mean.square() - log_variance.exp())
