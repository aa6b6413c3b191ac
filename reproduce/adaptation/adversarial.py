"""The adaptation of a source network to a target domain, whose labels are never read (ADDA, as its code does it).

The target network starts as a copy of the source network, which stays as it is. The adversary tells the source
network's logits of source pictures from the target network's logits of target pictures; the target network learns to
fool it (Tzeng et al. 2017, arXiv:1702.05464, equations 7 to 9). One forward pass gives the gradients of both, and both
take a step: Adam at 2e-4, beta_1 = .5.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from reproduce.adaptation.settings import VIEWS, AdaptationSettings
from trex.artifacts.precision import half_precision
from trex.mnist_models.networks.classifiers import LeNet
from trex.mnist_models.pictures import Bytes
from trex.mnist_models.training.loop import Batch, Training, placed, to_images

SOURCE, TARGET = 0, 1  # the adversary's classes
HIDDEN = 500


class Adversary(nn.Module):
    """What a network makes of a picture, (B, width), to logits (B, 2) of the picture's domain."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.judge = nn.Sequential(
            nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)
        )

    def forward(self, seen: Tensor) -> Tensor:
        """The logits of each picture's domain."""
        logits: Tensor = self.judge(seen)
        return logits


def view(network: LeNet, images: Tensor, adversary_at: str) -> Tensor:
    """What the adversary sees of pictures (B, 1, 28, 28): the ten logits, or the 500 features below them."""
    seen: Tensor = network(images) if adversary_at == "logits" else network.features(images)
    return seen


def true_domains(n_source: int, n_target: int) -> Tensor:
    """The classes (n_source + n_target,) of a batch that begins with the source's pictures."""
    return torch.cat([torch.full((n_source,), SOURCE), torch.full((n_target,), TARGET)])


def adversary_loss(judged: Tensor, domains: Tensor) -> Tensor:
    """The adversary's: mean cross entropy with the domains (B,)."""
    return functional.cross_entropy(judged, domains)


def mapping_loss(judged: Tensor, domains: Tensor) -> Tensor:
    """The target network's: mean cross entropy with the domains inverted.

    As in the published code, it is the mean over both halves, although only the target's half has gradients.
    """
    return functional.cross_entropy(judged, SOURCE + TARGET - domains)


LEARNING_RATE = 2e-4
BETAS = (0.5, 0.999)


def adaptation_training(settings: AdaptationSettings, source: LeNet, target_pictures: Bytes) -> Training:
    """The target network (`model`), the adversary, and one step of both.

    `source` is only read. Target pictures (N, 28, 28) are drawn with replacement, as many as the batch has.
    """
    placed(source, settings.device).eval().requires_grad_(False)
    network = copy.deepcopy(source).requires_grad_(True)
    adversary = Adversary(VIEWS[settings.adversary_at]).to(settings.device)
    moving = list((network if settings.adversary_at == "logits" else network.features).parameters())
    judging = list(adversary.parameters())
    optimizers = {
        name: torch.optim.Adam(parameters, lr=LEARNING_RATE, betas=BETAS)
        for name, parameters in (("mapping", moving), ("judging", judging))
    }

    def step(batch: Batch) -> dict[str, Tensor]:
        images = _drawn(target_pictures, len(batch.images), batch.images.device)
        with torch.no_grad(), half_precision(images.device.type):
            seen = view(source, batch.images, settings.adversary_at)
        with half_precision(images.device.type):
            new = view(network, images, settings.adversary_at)
        judged = adversary(torch.cat([seen, new]).float())
        domains = true_domains(len(seen), len(images)).to(judged.device)
        if settings.domain_labels == "shuffled":
            domains = domains[torch.randperm(len(domains))]
        losses = {
            "adversary": adversary_loss(judged, domains),
            "mapping": mapping_loss(judged, domains),
        }
        _set_gradients(judging, losses["adversary"])
        _set_gradients(moving, losses["mapping"])
        for optimizer in optimizers.values():
            optimizer.step()
        right = (judged.argmax(dim=1) == domains).float().mean()
        return losses | {"told apart": right}

    return Training({"model": network, "adversary": adversary}, optimizers, step)


def _drawn(pictures: Bytes, n: int, device: torch.device) -> Tensor:
    """n pictures at random, by torch's state, which the loop sets for every step."""
    rows = torch.randint(len(pictures), (n,)).numpy()
    return to_images(pictures[rows], device).contiguous(memory_format=torch.channels_last)


def _set_gradients(parameters: Sequence[nn.Parameter], loss: Tensor) -> None:
    """The loss's gradients into these parameters and no others; the graph is kept for the other player."""
    for parameter, gradient in zip(
        parameters, torch.autograd.grad(loss, parameters, retain_graph=True), strict=True
    ):
        parameter.grad = gradient
