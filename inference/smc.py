"""Tempered sequential Monte Carlo (Del Moral, Doucet and Jasra 2006), from the prior batch to the target.

Used for burn-in to rare targets, and to estimate their mass: average the mass (not its log) over at least 8 runs,
with `mean_weight`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.chains import tempering_power
from trex.inference.metropolis import Metropolis
from trex.inference.rng import PARTICLE_STREAM, RngState, load_rng, save_rng, stream
from trex.inference.statistics.importance import mean_weight, resample
from trex.inference.types import Draw, Floats, State, Z

ESS_SHARE = 0.5  # of the particles, kept at every rise of the power


@dataclass(frozen=True)
class Particles(Generic[Z]):
    """Equally weighted states at one power of the weight (0 the prior, 1 the posterior), and the random states.

    `log_mass` is the log estimate of the mean of (weight / its peak)^power under the prior.
    """

    states: tuple[State[Z], ...]
    rng_states: tuple[RngState, ...]  # one per particle, and the last for resampling
    power: float = 0.0
    log_mass: float = 0.0


class Stage(NamedTuple, Generic[Z]):
    """Particles after one rise of the power, and its cost."""

    particles: Particles[Z]
    renders: int
    accepted: float  # share of the moves


def particles(seed: int, draws: Sequence[Draw[Z]]) -> Particles[Z]:
    """Prior draws as particles at power 0."""
    if len(draws) < 2:
        raise InputError(f"{len(draws)} particles are too few; take at least 2, better 100")
    rngs = tuple(save_rng(stream(seed, PARTICLE_STREAM, i)) for i in range(len(draws) + 1))
    return Particles(tuple(State(draw.z, draw.evaluation) for draw in draws), rngs)


def stages(
    kernel: Metropolis[Z], start: Particles[Z], n_moves: int, ess_share: float = ESS_SHARE
) -> Iterator[Stage[Z]]:
    """Raise the power until it is 1, moving every particle n_moves times after each; resumable from any stage."""
    current = start
    while current.power < 1.0:
        stage = _rise(kernel, current, n_moves, ess_share)
        current = stage.particles
        yield stage


def _rise(kernel: Metropolis[Z], now: Particles[Z], n_moves: int, ess_share: float) -> Stage[Z]:
    log_weights = np.array([state.evaluation.log_weight for state in now.states])
    power, increment = next_power(now.power, log_weights, ess_share)
    mean, _ = mean_weight(increment * (log_weights - log_weights.max()))
    log_mass = now.log_mass + math.log(mean) + increment * (float(log_weights.max()) - kernel.target.log_peak)
    rngs = [load_rng(state) for state in now.rng_states]
    states = [now.states[i] for i in resample(rngs[-1], increment * log_weights, len(now.states))]
    tempered, renders, accepted = replace(kernel, power=power), 0, 0
    for _ in range(n_moves):
        steps = tempered.step_many(rngs[:-1], states)
        states = [state for state, _ in steps]
        renders += sum(info.was_rendered for _, info in steps)
        accepted += sum(info.is_accepted for _, info in steps)
    after = Particles(tuple(states), tuple(save_rng(rng) for rng in rngs), power, log_mass)
    return Stage(after, renders, accepted / max(1, n_moves * len(states)))


def next_power(power: float, log_weights: Floats, ess_share: float) -> tuple[float, float]:
    """The next power and its increment: the largest that keeps the effective size at ess_share of the particles."""
    increment = tempering_power(log_weights, ess_share * log_weights.size)
    return (1.0, 1.0 - power) if power + increment >= 1.0 else (power + increment, increment)
