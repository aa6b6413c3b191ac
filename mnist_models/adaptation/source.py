"""Trains the source network as published: Adam at 1e-3, cross entropy and an L2 penalty, no augmentation."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from trex.artifacts.precision import half_precision
from trex.mnist_models.adaptation.settings import SourceSettings
from trex.mnist_models.networks.classifiers import LeNet
from trex.mnist_models.training.classifier_loss import nll_loss
from trex.mnist_models.training.loop import Batch, Training, placed

LEARNING_RATE = 1e-3
L2 = 2.5e-5  # times half the sum of squares of the weights, biases left out, as TensorFlow's l2_regularizer


def source_training(settings: SourceSettings) -> Training:
    """The network and its step."""
    network = placed(LeNet(len(settings.classes)), settings.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        images = batch.images.contiguous(memory_format=torch.channels_last)
        with half_precision(images.device.type):
            logits = network(images)
        loss = nll_loss(logits.float(), batch.labels)
        optimizer.zero_grad(set_to_none=True)
        (loss + penalty(network.parameters())).backward()
        optimizer.step()
        return {"loss": loss}

    return Training({"model": network}, {"optimizer": optimizer}, step)


def penalty(parameters: Iterable[nn.Parameter]) -> Tensor:
    """L2 on weights; a scalar."""
    squares = [parameter.square().sum() for parameter in parameters if parameter.ndim >= 2]
    return 0.5 * L2 * torch.stack(squares).sum()
