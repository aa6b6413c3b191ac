"""Fine-tunes a trained classifier on its data and on further pictures: L(D) + weight * CE(D_f) (Defuse, "correct").

A step takes a batch of D and one of equal size of D_f; an epoch passes D once. What a step draws depends on the seed
and its number alone, and D's batches and dropout do not depend on D_f, so that weight 0 is an exact control.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from trex.artifacts.precision import half_precision
from trex.mnist_models.training.classifier_loss import nll_loss
from trex.mnist_models.training.loop import Batch, Training, placed

NORMALIZING = (nn.BatchNorm1d, nn.BatchNorm2d)


class Extra(NamedTuple):
    """D_f: pictures (n, 1, 28, 28) in [0, 1], their labels (n,), and the weight of their loss."""

    images: Tensor
    labels: Tensor
    weight: float


def fine_tune_training(network: nn.Module, extra: Extra, rate: float) -> Training:
    """A copy of the network, Adam at a constant rate, and its step; a weight of 0 does not look at D_f."""
    tuned = placed(copy.deepcopy(network), "cpu").requires_grad_(True)
    optimizer = torch.optim.Adam(tuned.parameters(), lr=rate)

    def step(batch: Batch) -> dict[str, Tensor]:
        _freeze_statistics(tuned)
        value = _loss(tuned, batch.images, batch.labels)
        if extra.weight > 0.0:
            rows = torch.randint(
                len(extra.labels), (len(batch.labels),)
            )  # after D, whose dropout it must not change
            value = value + extra.weight * _loss(tuned, extra.images[rows], extra.labels[rows])
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        return {"loss": value}

    return Training({"model": tuned}, {"optimizer": optimizer}, step)


def _loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    shown = images.contiguous(memory_format=torch.channels_last)
    with half_precision(shown.device.type):
        logits = network(shown)
    return nll_loss(logits.float(), labels)


def _freeze_statistics(network: nn.Module) -> None:
    """Keep the running statistics of batch normalization as they were trained."""
    for module in network.modules():
        if isinstance(module, NORMALIZING):
            module.eval()
