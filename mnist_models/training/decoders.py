"""Training of decoders (`trex models train vae | beta-vae | gan`): Adam, batches of 128.

The VAE is trained as in the paper. The beta-VAE's loss is, as a mean over the batch, BCE summed over pixels +
beta * min(1, step / anneal) * KL(q(z|x) || N(0, I)) (Slack et al. 2021 print none; Higgins et al. 2017, equation 4,
with the KL annealed). The sum matters: with a mean over pixels beta = 4 switches every latent off.

The GAN's 2e-4 is the paper's; beta_1 = .5 is DCGAN's (Radford et al. 2016). The paper gives no number of epochs; ours
are few, so the learning rate falls to 0 along half a cosine. The background alone, exactly 0 in scanned pictures,
distinguishes them from pictures of 5 latents: the discriminator was sure of every picture after 50 steps. It therefore
sees both in [-1, 1] with added noise (Arjovsky and Bottou 2017), which fades away, and learns at a quarter of the
generator's rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trex.artifacts.precision import half_precision
from trex.mnist_models.card import LATENT
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.networks.autoencoders import BetaVae, Terms, Vae
from trex.mnist_models.networks.gan import Discriminator, Generator, discriminator_loss, generator_loss
from trex.mnist_models.training.loop import Batch, Settings, Training, placed, set_rate

VAE_RATE, BETA_VAE_RATE = 1e-3, 1e-3  # Adam's step
GAN_RATE, DISCRIMINATOR_RATE = 2e-4, 5e-5
BETAS = (0.5, 0.999)  # of the GAN
NOISE = 0.4  # standard deviation at the start, of pictures in [-1, 1]


def vae_training(settings: Settings) -> Training:
    """The autoencoder and its step."""
    vae = Vae().to(settings.device)
    optimizer = torch.optim.Adam(vae.parameters(), lr=VAE_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        loss = vae.loss(batch.images) / len(batch.images)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training({"model": vae}, {"optimizer": optimizer}, step)


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


def beta_loss(terms: Terms, n: int, beta: float, anneal: int, step: int) -> Tensor:
    """The loss of a batch of `n` at a step, counted from 0: nats per picture."""
    return (terms.surprise + beta * min(1.0, step / anneal) * terms.kl) / n


def beta_vae_training(settings: BetaVaeSettings) -> Training:
    """The autoencoder and its step, networks in bfloat16."""
    vae = BetaVae(DATASETS[settings.dataset].picture, settings.latent)
    placed(vae, settings.device)
    optimizer = torch.optim.Adam(vae.parameters(), lr=BETA_VAE_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        set_rate(optimizer, BETA_VAE_RATE, batch.done)
        images = batch.images.contiguous(memory_format=torch.channels_last)
        with half_precision(images.device.type):
            terms = vae.terms(images)
        loss = beta_loss(terms, len(images), settings.beta, settings.anneal, batch.step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return {"loss": loss, "kl": terms.kl / len(images)}

    return Training({"model": vae}, {"optimizer": optimizer}, step)


def gan_training(settings: Settings) -> Training:
    """Generator, discriminator, and one step of each."""
    generator, discriminator = (
        placed(network, settings.device) for network in (Generator(), Discriminator())
    )
    draws = torch.optim.Adam(generator.parameters(), lr=GAN_RATE, betas=BETAS)
    discriminator_steps = torch.optim.Adam(discriminator.parameters(), lr=DISCRIMINATOR_RATE, betas=BETAS)

    def step(batch: Batch) -> dict[str, Tensor]:
        set_rate(draws, GAN_RATE, batch.done)
        set_rate(discriminator_steps, DISCRIMINATOR_RATE, batch.done)
        z = torch.randn(len(batch.images), LATENT, device=batch.images.device)
        with half_precision(batch.images.device.type):
            drawn = generator(z)
            odds = [discriminator(_shown(each, batch.done)) for each in (batch.images, drawn.detach())]
        judged = discriminator_loss(odds[0].float(), odds[1].float())
        discriminator_steps.zero_grad(set_to_none=True)
        judged.backward()
        discriminator_steps.step()
        discriminator.requires_grad_(False)
        with half_precision(batch.images.device.type):
            again = discriminator(_shown(drawn, batch.done))
        fooled = generator_loss(again.float())
        draws.zero_grad(set_to_none=True)
        fooled.backward()
        draws.step()
        discriminator.requires_grad_(True)
        return {"generator": fooled, "discriminator": judged}

    return Training(
        {"model": generator, "judge": discriminator}, {"draws": draws, "judges": discriminator_steps}, step
    )


def _shown(images: Tensor, done: float) -> Tensor:
    """The discriminator's view of pictures in [0, 1]."""
    return 2.0 * images - 1.0 + NOISE * (1.0 - done) * torch.randn_like(images)
