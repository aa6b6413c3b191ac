"""Trains the beta-VAE of Defuse (`trex train beta-vae`): Adam at 1e-3, as published, falling to zero along a cosine.

The loss is, as a mean over the batch, BCE summed over pixels + beta * min(1, step / anneal) * KL(q(z|x) || N(0, I))
(Slack et al. 2021 print none; Higgins et al. 2017, equation 4, with the KL annealed). The sum matters: with a mean
over pixels beta = 4 switches every latent off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trex.artifacts.precision import half_precision
from trex.foundation.errors import InputError
from trex.mnist_models.card import MAX_LATENTS
from trex.mnist_models.data.datasets import DATASETS
from trex.mnist_models.networks.beta_vae import BetaVae
from trex.mnist_models.networks.vae import Terms
from trex.mnist_models.training.loop import Batch, Settings, Training, placed, set_rate

LEARNING_RATE = 1e-3


class Published(NamedTuple):
    """Numbers of the publication for one data set."""

    latent: int
    anneal: int  # optimizer steps
    beta: float = 4.0  # another sentence says .4 of MNIST


PUBLISHED = {"mnist": Published(10, 500), "svhn": Published(10, 5000), "signs": Published(15, 500)}
OTHERS = PUBLISHED["mnist"]  # for data sets that were not published


@dataclass(frozen=True)
class BetaVaeSettings(Settings):
    """Settings of a beta-VAE: the number of latents, the weight of the KL, and the steps over which it grows to it."""

    latent: int
    beta: float
    anneal: int


def check_beta(latent: int, beta: float, anneal: int) -> None:
    """Raise InputError for numbers that make no beta-VAE."""
    if not 1 <= latent <= MAX_LATENTS:
        raise InputError(f"latent {latent} must be 1 to {MAX_LATENTS}")
    if not (math.isfinite(beta) and beta >= 0.0):
        raise InputError(f"beta {beta:g} must be a number of at least 0")
    if anneal < 1:
        raise InputError(f"anneal {anneal} must be at least 1 step")


def beta_loss(terms: Terms, n: int, beta: float, anneal: int, step: int) -> Tensor:
    """The loss of a batch of `n` at a step, counted from 0: nats per picture."""
    return (terms.surprise + beta * min(1.0, step / anneal) * terms.kl) / n


def beta_vae_training(settings: BetaVaeSettings) -> Training:
    """The autoencoder and its step, networks in bfloat16."""
    vae = BetaVae(DATASETS[settings.dataset].picture, settings.latent)
    placed(vae, settings.device)
    optimizer = torch.optim.Adam(vae.parameters(), lr=LEARNING_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        set_rate(optimizer, LEARNING_RATE, batch.done)
        images = batch.images.contiguous(memory_format=torch.channels_last)
        with half_precision(images.device.type):
            terms = vae.terms(images)
        loss = beta_loss(terms, len(images), settings.beta, settings.anneal, batch.step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return {"loss": loss, "kl": terms.kl / len(images)}

    return Training({"model": vae}, {"optimizer": optimizer}, step)
