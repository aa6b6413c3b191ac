"""The adversary of ADDA and the two losses of its game (Tzeng et al. 2017, arXiv:1702.05464, equations 7 to 9)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from trex.mnist_models.networks.classifiers import FEATURES, LeNet

SOURCE, TARGET = 0, 1  # the adversary's classes
VIEWS = {"logits": 10, "features": FEATURES["lenet"]}  # what it may see, and how wide that is
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
