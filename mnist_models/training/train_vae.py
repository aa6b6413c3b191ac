"""Trains a variational autoencoder as in the paper: Adam at 1e-3, batches of 128, 100 epochs (`trex train vae`)."""

from __future__ import annotations

import torch
from torch import Tensor

from trex.mnist_models.networks.vae import Vae
from trex.mnist_models.training.loop import Batch, Settings, Training

LEARNING_RATE = 1e-3


def vae_training(settings: Settings) -> Training:
    """The autoencoder and its step."""
    vae = Vae().to(settings.device)
    optimizer = torch.optim.Adam(vae.parameters(), lr=LEARNING_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        loss = vae.loss(batch.images) / len(batch.images)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Training({"model": vae}, {"optimizer": optimizer}, step)
