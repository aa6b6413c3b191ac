"""Train a generative adversarial network (`trex train gan`).

Adam at 2e-4 and batches of 128 are the paper's; beta_1 = .5 is DCGAN's (Radford et al. 2016).
"""

from __future__ import annotations

import torch
from torch import Tensor

from mnist_models.gan import Discriminator, Generator, discriminator_loss, generator_loss
from mnist_models.training import Batch, Job, Settings
from mnist_models.vae import LATENT

LEARNING_RATE = 2e-4
BETAS = (0.5, 0.999)


def gan_job(settings: Settings) -> Job:
    """Generator, discriminator, and a step of each."""
    generator, discriminator = Generator().to(settings.device), Discriminator().to(settings.device)
    draws = torch.optim.Adam(generator.parameters(), lr=LEARNING_RATE, betas=BETAS)
    judges = torch.optim.Adam(discriminator.parameters(), lr=LEARNING_RATE, betas=BETAS)

    def step(batch: Batch) -> dict[str, Tensor]:
        drawn = generator(torch.randn(len(batch.images), LATENT, device=batch.images.device))
        judged = discriminator_loss(discriminator(batch.images), discriminator(drawn.detach()))
        judges.zero_grad(set_to_none=True)
        judged.backward()  # type: ignore[no-untyped-call]
        judges.step()
        fooled = generator_loss(discriminator(drawn))
        draws.zero_grad(set_to_none=True)
        fooled.backward()  # type: ignore[no-untyped-call]
        draws.step()
        return {"generator": fooled, "discriminator": judged}

    return Job({"model": generator, "judge": discriminator}, {"draws": draws, "judges": judges}, step)
