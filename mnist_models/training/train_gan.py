"""Trains a generative adversarial network (`trex train gan`).

Adam at 2e-4 and batches of 128 are the paper's; beta_1 = .5 is DCGAN's (Radford et al. 2016). The paper gives no
number of epochs; ours are few, so the learning rate falls to 0 along half a cosine.

The background alone, exactly 0 in scanned pictures, distinguishes them from pictures of 5 latents: the
discriminator was sure of every picture after 50 steps. It therefore sees both in [-1, 1] with added noise (Arjovsky
and Bottou 2017), which fades away, and learns at a quarter of the generator's rate.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trex.artifacts.precision import half_precision
from trex.mnist_models.card import LATENT
from trex.mnist_models.networks.gan import Discriminator, Generator, discriminator_loss, generator_loss
from trex.mnist_models.training.loop import Batch, Settings, Training, placed, set_rate

LEARNING_RATE = 2e-4
DISCRIMINATOR_RATE = 5e-5
BETAS = (0.5, 0.999)
NOISE = 0.4  # standard deviation at the start, of pictures in [-1, 1]


def gan_training(settings: Settings) -> Training:
    """Generator, discriminator, and one step of each."""
    generator, discriminator = (
        placed(network, settings.device) for network in (Generator(), Discriminator())
    )
    draws = torch.optim.Adam(generator.parameters(), lr=LEARNING_RATE, betas=BETAS)
    discriminator_steps = torch.optim.Adam(discriminator.parameters(), lr=DISCRIMINATOR_RATE, betas=BETAS)

    def step(batch: Batch) -> dict[str, Tensor]:
        set_rate(draws, LEARNING_RATE, batch.done)
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
