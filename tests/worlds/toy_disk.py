"""A third world, in one file: points of the plane, shown as one pixel, asked whether they lie far out.

The prior is standard normal, so |z|^2 is exponential with mean 2: P(|z| > r) = exp(-r^2 / 2). The pixel is
tanh(|z|^2 / 8), the classifier inverts that, and says "far" with probability sigmoid(4 (|z|^2 - 9)): it says so with
at least `p` exactly where |z|^2 >= 9 + log(p / (1 - p)) / 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import logsigmoid

from trex.inference.types import Floats, Pixels
from trex.mnist_models.latent import StandardNormal
from trex.query.schema import Query
from trex.worlds.vectors import VectorParts, VectorWorld

FAR, SLOPE = 9.0, 4.0
QUERY = """
answer = "far"
[generator]
name = "tests.worlds.toy_disk:disk"
[target]
kind = "threshold"
threshold = 0.9
width = 0.02
[search]
prior_scenes = 3000
further = 0
chains = 4
steps = 150
scale = 0.5
"""


def mass(p: float) -> float:
    """The prior's share of points that are "far" with probability at least p."""
    return math.exp(-0.5 * (FAR + math.log(p / (1.0 - p)) / SLOPE))


@dataclass(frozen=True, eq=False)
class Dot:
    """A picture of one gray pixel, float32 in [0, 1]."""

    pixels: NDArray[np.float32]


@dataclass(frozen=True)
class DiskRenderer:
    """The farther out, the brighter."""

    key: str = "disk 1"

    def render(self, zs: Sequence[Floats]) -> list[Dot]:
        """One pixel each."""
        return [Dot(np.full((1, 1, 1), np.tanh(float(z @ z) / 8.0), np.float32)) for z in zs]

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class DiskClassifier:
    """Far or near."""

    labels: tuple[str, ...] = ("near", "far")

    def log_probs(self, images: Pixels) -> Floats:
        """(B, 1, 1, 1) -> (B, 2)."""
        squared = 8.0 * np.arctanh(np.minimum(images[:, 0, 0, 0].astype(np.float64), 1.0 - 1e-9))
        logit = SLOPE * (squared - FAR)
        found: Floats = -np.logaddexp(0.0, np.stack([logit, -logit], axis=1))
        return found


def disk(name: str) -> VectorWorld:
    """The world, as a query names it: generator.name = "tests.worlds.toy_disk:disk"."""
    return VectorWorld(name, "How far out is it?", "dots", _load)


def differentiable(z: Tensor) -> Tensor:
    """(B, 2) -> (B, 2), as renderer and classifier together."""
    logit = SLOPE * ((z * z).sum(-1) - FAR)
    return logsigmoid(torch.stack([-logit, logit], dim=-1))


def _load(query: Query) -> VectorParts:
    torch.set_num_threads(1)
    parts = VectorParts(StandardNormal(2), DiskRenderer(), DiskClassifier(), "disk", "disk 1", (1, 1))
    return replace(parts, differentiable=differentiable)
