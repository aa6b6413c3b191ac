"""Training of classifiers (`trex models train classifier`), their losses, views of few pictures, and fine-tuning.

Adam at its defaults and batches of 128, as in the paper; its up to 100 epochs are fewer here, because the learning
rate falls to zero along a cosine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.artifacts.precision import half_precision
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.networks.classifiers import classifier_of
from trex.mnist_models.training.loop import Batch, Settings, Training, placed, set_rate

LEARNING_RATE = 1e-3
NORMALIZING = (nn.BatchNorm1d, nn.BatchNorm2d)
Loss = Callable[[Tensor, Tensor], Tensor]
# Of `varied`.
TURN_RAD = 0.2
ZOOM = 0.15  # share of the side
SHIFT = 0.06  # share of the side
DETAIL = (1.0, 0.5, 0.3)  # of the pixels along a side; a third of the pictures each
CONTRAST = 0.4  # share
LIGHT = 0.12  # of 1


def nll_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean negative log likelihood of labels (B,) given logits (B, K)."""
    return functional.cross_entropy(logits, labels)


def ambiguous_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean KL(t || f), with t = 1/2 on label y and on y + 1; the first class follows the last (appendix H).

    0 for exact ties; a classifier trained with it is right about half of the time.
    """
    log_probs = logits.log_softmax(dim=1)
    following = (labels + 1) % logits.shape[1]
    rows = torch.arange(len(labels), device=labels.device)
    surprise = -0.5 * (log_probs[rows, labels] + log_probs[rows, following])
    return surprise.mean() - torch.log(torch.tensor(2.0, device=logits.device))


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


def varied(images: Tensor) -> Tensor:
    """The pictures (B, C, H, W) in [0, 1], each turned, zoomed, moved, coarsened and lit at random (torch's).

    Never mirrored: a mirrored "turn left" is "turn right". The ranges are ours, for pictures of traffic signs.
    """
    moved = _moved(images)
    which = torch.randint(len(DETAIL), (len(images),), device=images.device)
    for number, share in enumerate(DETAIL):
        if share < 1.0:
            moved = torch.where(_column(which == number), _coarse(moved, share), moved)
    mean = moved.mean((1, 2, 3), keepdim=True)
    contrast, light = 1.0 + _column(_within(images, CONTRAST)), _column(_within(images, LIGHT))
    return (mean + contrast * (moved - mean) + light).clamp(0.0, 1.0)


def _within(images: Tensor, most: float) -> Tensor:
    """(B,) uniform in [-most, most]."""
    return (2.0 * torch.rand(len(images), device=images.device) - 1.0) * most


def _column(values: Tensor) -> Tensor:
    return values[:, None, None, None]


def _moved(images: Tensor) -> Tensor:
    """Turned, zoomed and moved; beyond the edge its pixels go on."""
    angle, zoom = _within(images, TURN_RAD), 1.0 + _within(images, ZOOM)
    right, down = (2.0 * _within(images, SHIFT) for _ in range(2))  # the grid is 2 wide
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    rows = torch.stack([torch.stack([cos, -sin, right], 1), torch.stack([sin, cos, down], 1)], 1)
    grid = functional.affine_grid(rows, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _coarse(images: Tensor, share: float) -> Tensor:
    """With this share of the pixels along each side, enlarged again."""
    size = images.shape[2:]
    small = [max(1, round(share * side)) for side in size]
    few = functional.interpolate(images, small, mode="bilinear", align_corners=False, antialias=True)
    return functional.interpolate(few, list(size), mode="bilinear", align_corners=False)


class Extra(NamedTuple):
    """D_f: pictures (n, 1, 28, 28) in [0, 1], their labels (n,), and the weight of their loss."""

    images: Tensor
    labels: Tensor
    weight: float


def fine_tune_training(network: nn.Module, extra: Extra, rate: float) -> Training:
    """A copy of the network, Adam at a constant rate, and its step: L(D) + weight * CE(D_f) (Defuse, "correct").

    A step takes a batch of D and one of equal size of D_f; an epoch passes D once. What a step draws depends on the
    seed and its number alone, and D's batches and dropout do not depend on D_f, so that weight 0 is an exact control.
    """
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
