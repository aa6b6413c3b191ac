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
        z = torch.randn(len(batch.images), LATENT, device=batch.images.device)
        with _half(batch.images):
            drawn = generator(z)
            odds = discriminator(batch.images), discriminator(drawn.detach())
        judged = discriminator_loss(odds[0].float(), odds[1].float())
        judges.zero_grad(set_to_none=True)
        judged.backward()  # type: ignore[no-untyped-call]
        judges.step()
        with _half(batch.images):
            again = discriminator(drawn)
        fooled = generator_loss(again.float())
        draws.zero_grad(set_to_none=True)
        fooled.backward()  # type: ignore[no-untyped-call]
        draws.step()
        return {"generator": fooled, "discriminator": judged}

    return Job({"model": generator, "judge": discriminator}, {"draws": draws, "judges": judges}, step)


def _half(images: Tensor) -> torch.autocast:
    """Networks in bfloat16, in 55 % of the time on the CPU; weights and losses stay in float32."""
    return torch.autocast(images.device.type, dtype=torch.bfloat16)
