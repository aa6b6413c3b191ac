"""The density that NUTS samples, in torch, with its gradient: log prior + log weight of the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trex.foundation.errors import InputError, ModelError
from trex.inference.targets import GaussianTarget
from trex.inference.types import Floats, State

PAPER = 1.0  # the temperature of the paper's target
LANE = 4  # rows evaluated at a time


def lane_of(n_chains: int) -> int:
    """The lane for a search of so many chains: a single one pays for no empty rows."""
    return 1 if n_chains == 1 else LANE


def standard_normal(z: Tensor) -> Tensor:
    """(B, d) -> (B,): log N(z; 0, I), normalized."""
    d: int = z.shape[-1]
    return -0.5 * (z * z).sum(-1) - 0.5 * d * math.log(2.0 * math.pi)


class Point(NamedTuple):
    """A point at which to evaluate the density: z is (d,); `temperature` is `PAPER` for every draw."""

    z: Floats
    temperature: float = PAPER


class Evaluated(NamedTuple):
    """The values at a point. `state` is the paper's; `log_density` and `gradient` (d,) are at the temperature."""

    state: State[Floats]
    log_density: float
    gradient: Floats


@dataclass(frozen=True, eq=False)
class Density:
    """prior(z) * weight(z); `log_probs` maps latents to answers: (B, d) float64 -> (B, K), differentiable.

    At a temperature above 1 the target is applied to softmax(logits / temperature), which does not saturate; see
    `trex.inference.nuts.chain`. Rows are evaluated `lane` at a time, chain c always as row c % lane of a full lane:
    the last bits of a matrix product depend on the batch's size and on the row, but not on the content of the other
    rows. Chain c's draws therefore do not depend on the other chains; on another machine or with another lane they may
    differ.
    """

    log_probs: Callable[[Tensor], Tensor]
    target: GaussianTarget
    log_prior: Callable[[Tensor], Tensor] = standard_normal
    lane: int = LANE

    def __post_init__(self) -> None:
        if self.lane < 1:
            raise InputError(f"lane {self.lane} must be at least 1: so many points are evaluated at a time")

    def evaluate(self, points: Mapping[int, Point]) -> dict[int, Evaluated]:
        """The values by chain number, in as few lanes as each chain's fixed row allows."""
        found: dict[int, Evaluated] = {}
        for lane in lanes(sorted(points), self.lane):
            rows = self._evaluate_lane({chain % self.lane: points[chain] for chain in lane})
            found |= {chain: rows[chain % self.lane] for chain in lane}
        return found

    def _evaluate_lane(self, rows: Mapping[int, Point]) -> dict[int, Evaluated]:
        first = next(iter(rows.values()))
        z, temperature = np.zeros((self.lane, first.z.size)), np.ones((self.lane, 1))
        for row, point in rows.items():
            z[row], temperature[row] = point.z, point.temperature
        given = torch.from_numpy(z).requires_grad_(True)
        log_prior, log_probs = self.log_prior(given), self._answers(given)
        log_density = log_prior + self.target.log_weights(tempered(log_probs, torch.from_numpy(temperature)))
        (gradient,) = torch.autograd.grad(log_density.sum(), given)
        log_weight = self.target.log_weights(log_probs.detach())
        parts = (log_prior, log_weight, log_probs, log_density, gradient)
        arrays = [part.detach().numpy() for part in parts]
        return {row: _evaluated(point.z, [array[row] for array in arrays]) for row, point in rows.items()}

    def _answers(self, z: Tensor) -> Tensor:
        log_probs = self.log_probs(z)
        if log_probs.ndim != 2 or log_probs.shape[0] != z.shape[0] or not log_probs.requires_grad:
            raise ModelError(
                f"log_probs of {tuple(z.shape)} latents are {tuple(log_probs.shape)}"
                f"{'' if log_probs.requires_grad else ', without gradient'}; "
                "NUTS needs (latents, labels), differentiable: take the differentiable forms of renderer and classifier"
            )
        return log_probs.double()


def lanes(chains: Sequence[int], lane: int) -> list[list[int]]:
    """The chains in as few groups as possible, no two of a group with the same row, chain % lane."""
    of_row = [[chain for chain in chains if chain % lane == row] for row in range(lane)]
    return [[c for c in group if c is not None] for group in zip_longest(*of_row)]


def tempered(log_probs: Tensor, temperature: Tensor) -> Tensor:
    """log softmax(logits / temperature) of (B, K) at temperatures (B, 1); exactly the same at 1."""
    if bool((temperature == PAPER).all()):
        return log_probs
    return torch.where(temperature == PAPER, log_probs, (log_probs / temperature).log_softmax(-1))


def _evaluated(z: Floats, row: list[Floats]) -> Evaluated:
    log_prior, log_weight, log_probs, log_density, gradient = row
    paper = State(z, float(log_prior), float(log_weight), log_probs.copy())
    return Evaluated(paper, float(log_density), gradient.copy())
