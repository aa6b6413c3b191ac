"""Trains a classifier (`trex train classifier`); "ambiguous" is the paper's with ambiguous labels.

Adam at its defaults and batches of 128, as in the paper; its up to 100 epochs are fewer here, because the learning
rate falls to zero along a cosine.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from trex.artifacts.precision import half_precision
from trex.mnist_models.data.datasets import DATASETS
from trex.mnist_models.networks.by_kind import classifier_of
from trex.mnist_models.training.classifier_loss import ambiguous_loss, nll_loss
from trex.mnist_models.training.loop import Batch, Settings, Training, placed, set_rate
from trex.mnist_models.training.views import varied

LEARNING_RATE = 1e-3
Loss = Callable[[Tensor, Tensor], Tensor]


def classifier_training(settings: Settings) -> Training:
    """The network that `settings.model` names, and its step."""
    loss = ambiguous_loss if settings.model == "ambiguous" else nll_loss
    picture = DATASETS[settings.dataset].picture
    network = placed(classifier_of(settings.model, len(settings.classes), picture), settings.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    return Training({"model": network}, {"optimizer": optimizer}, classifier_step(network, optimizer, loss))


def classifier_step(
    network: nn.Module, optimizer: torch.optim.Optimizer, loss: Loss, is_varied: bool = False
) -> Callable[[Batch], dict[str, Tensor]]:
    """A step of Adam whose rate falls to zero along a cosine, in bfloat16; `is_varied`: it sees `varied` pictures."""

    def step(batch: Batch) -> dict[str, Tensor]:
        set_rate(optimizer, LEARNING_RATE, batch.done)
        images = varied(batch.images) if is_varied else batch.images
        images = images.contiguous(memory_format=torch.channels_last)
        with half_precision(images.device.type):
            logits = network(images)
        value = loss(logits.float(), batch.labels)
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        return {"loss": value}

    return step
