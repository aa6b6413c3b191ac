"""Train a generative adversarial network (`trex train gan`).

Adam at 2e-4 and batches of 128 are the paper's; beta_1 = .5 is DCGAN's (Radford et al. 2016). The paper tells no number
of epochs; ours are few, so the learning rate falls to 0 along half a cosine.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mnist_models.gan import Discriminator, Generator, discriminator_loss, generator_loss
from mnist_models.training import Batch, Job, Settings, cosine
from mnist_models.vae import LATENT

LEARNING_RATE = 2e-4
BETAS = (0.5, 0.999)


def gan_job(settings: Settings) -> Job:
    """Generator, discriminator, and a step of each."""
    generator, discriminator = (
        _placed(network, settings.device) for network in (Generator(), Discriminator())
    )
    draws, judges = (
        torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, betas=BETAS)
        for network in (generator, discriminator)
    )

    def step(batch: Batch) -> dict[str, Tensor]:
        for optimizer in (draws, judges):
            for group in optimizer.param_groups:
                group["lr"] = LEARNING_RATE * cosine(batch.done)
        z = torch.randn(len(batch.images), LATENT, device=batch.images.device)
        with _half(batch.images):
            drawn = generator(z)
            odds = discriminator(batch.images), discriminator(drawn.detach())
        judged = discriminator_loss(odds[0].float(), odds[1].float())
        judges.zero_grad(set_to_none=True)
        judged.backward()  # type: ignore[no-untyped-call]
        judges.step()
        discriminator.requires_grad_(False)
        with _half(batch.images):
            again = discriminator(drawn)
        fooled = generator_loss(again.float())
        draws.zero_grad(set_to_none=True)
        fooled.backward()  # type: ignore[no-untyped-call]
        draws.step()
        discriminator.requires_grad_(True)
        return {"generator": fooled, "discriminator": judged}

    return Job({"model": generator, "judge": discriminator}, {"draws": draws, "judges": judges}, step)


def _placed(network: nn.Module, device: str) -> nn.Module:
    """On the device, in the layout in which its convolutions are fastest."""
    return network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _half(images: Tensor) -> torch.autocast:
    """Networks in bfloat16, in 55 % of the time on the CPU; weights and losses stay in float32."""
    return torch.autocast(images.device.type, dtype=torch.bfloat16)
