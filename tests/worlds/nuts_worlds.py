"""Small worlds with gradients: latents that are N(0, I), and classifiers of them in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
from torch import Tensor

from tests.simulations.toy import Pixel
from trex.inference.chains import Checkpoint, start, starts
from trex.inference.nuts.sampler import Density, NutsOptions, nuts_rounds
from trex.inference.scoring import Scorer
from trex.inference.statistics.importance import prior_draws
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Floats, Pixels, State

torch.set_num_threads(1)


@dataclass(frozen=True)
class Normal:
    """N(0, I_d)."""

    d: int

    def sample(self, rng: np.random.Generator) -> Floats:
        return rng.standard_normal(self.d)

    def log_density(self, z: Floats) -> float:
        return float(-0.5 * (z @ z) - 0.5 * self.d * math.log(2.0 * math.pi))


@dataclass(frozen=True)
class LatentPictures:
    """Shows a latent as its number in a list: the classifier beside it looks the latent up. No rounding."""

    seen: list[Floats] = field(default_factory=list)

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        self.seen[:] = zs
        return [Pixel(np.zeros((1, 1, 1), np.uint8)) for _ in zs]


@dataclass(frozen=True)
class LatentClassifier:
    """Answers for the latents that were shown last."""

    pictures: LatentPictures
    of: Callable[[Tensor], Tensor]
    labels: tuple[str, ...]

    def log_probs(self, images: Pixels) -> Floats:
        found: Floats = self.of(torch.from_numpy(np.array(self.pictures.seen))).numpy()
        return found


@dataclass(frozen=True)
class LinearWorld:
    """Answers softmax(slope * (z[:2] - edge), 0): "x", "y" and "neither"; flat but for strips of width 1 / slope."""

    d: int = 2
    slope: float = 2.0
    edge: float = 0.0
    labels: tuple[str, ...] = ("x", "y", "neither")

    def log_probs(self, z: Tensor) -> Tensor:
        logits = torch.cat([self.slope * (z[:, :2] - self.edge), torch.zeros_like(z[:, :1])], dim=1)
        return logits.log_softmax(1)

    def density(self, target: GaussianTarget, lane: int = 4) -> Density:
        return Density(self.log_probs, target, lane=lane)

    def draws(self, seed: int, n: int, target: GaussianTarget) -> list[Draw[Floats]]:
        return prior_draws(seed, range(n), Normal(self.d), self.scorer, target)

    @property
    def scorer(self) -> Scorer[Floats]:
        pictures = LatentPictures()
        return Scorer(pictures, LatentClassifier(pictures, self.log_probs, self.labels), batch=1_000_000)

    def states(self, seed: int, n: int, target: GaussianTarget) -> tuple[State[Floats], ...]:
        return starts(seed, self.draws(seed, 50, target), n)


Moments = dict[str, Callable[[Floats, Floats], Floats]]  # of zs (n, d) and log weights (n,)
MOMENTS: Moments = {
    "x": lambda z, w: z[:, 0],
    "y": lambda z, w: z[:, 1],
    "x^2": lambda z, w: z[:, 0] ** 2,
    "xy": lambda z, w: z[:, 0] * z[:, 1],
    "last^2": lambda z, w: z[:, -1] ** 2,
    "log weight": lambda z, w: w,
}


@cache
def exact_moments(
    world: LinearWorld, target: GaussianTarget, around: tuple[float, float], step: float = 0.05
) -> dict[str, float]:
    """By quadrature over the first two coordinates; the others are N(0, 1), whatever the answers."""
    axes = [np.linspace(center - 6.0, center + 6.0, round(12.0 / step) + 1) for center in around]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    log_weights = target.log_weights(world.log_probs(torch.from_numpy(grid)).numpy())
    log_density = log_weights - 0.5 * (grid**2).sum(1)
    mass = np.exp(log_density - log_density.max())
    found = {name: float((f(grid, log_weights) * mass).sum() / mass.sum()) for name, f in MOMENTS.items()}
    return found if world.d == 2 else found | {"last^2": 1.0}


def sample(
    density: Density, states: Sequence[State[Floats]], options: NutsOptions, n: int, seed: int = 5
) -> list[Checkpoint[Floats]]:
    """n rounds after warmup, and warmup's before them."""
    return list(nuts_rounds(density, options, start(seed, states), options.warmup + n))


def after_warmup(rounds: Sequence[Checkpoint[Floats]]) -> Floats:
    """(chains, draws, d)."""
    found: Floats = np.array([[d.z for d in r.draws] for r in rounds if not r.draws[0].is_warmup])
    return found.transpose(1, 0, 2)
