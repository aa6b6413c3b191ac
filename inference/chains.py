"""Several chains, one round at a time: stopped after any round, they resume to the same draws, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from trex.foundation.errors import InputError, RunError
from trex.inference.rng import CHAIN_STREAM, START_STREAM, RngState, load_rng, save_rng, stream
from trex.inference.statistics.importance import effective_size
from trex.inference.types import Draw, Floats, Kernel, State, Z

TEMPERING_STEPS = 30  # halvings of the bracket


@dataclass(frozen=True)
class Checkpoint(Generic[Z]):
    """Chains between two rounds: each one's state and random state, the index of its next draw, and its last draw.

    `draws` are those of the round before, a step of every chain; none at the start. No later round depends on them.
    """

    states: tuple[State[Z], ...]
    rng_states: tuple[RngState, ...]
    next_index: int = 0
    draws: tuple[Draw[Z], ...] = ()

    def __post_init__(self) -> None:
        if not self.states or len(self.states) != len(self.rng_states):
            raise RunError(
                f"{len(self.states)} states and {len(self.rng_states)} random states do not make a checkpoint"
            )


def start(seed: int, states: Sequence[State[Z]]) -> Checkpoint[Z]:
    """Chains at these states; chain c draws from stream (seed, chain, c), so more chains leave the first unchanged."""
    return Checkpoint(
        tuple(states), tuple(save_rng(stream(seed, CHAIN_STREAM, c)) for c in range(len(states)))
    )


def rounds(
    kernel: Kernel[Z], checkpoint: Checkpoint[Z], n_rounds: int, n_warmup: int = 0
) -> Iterator[Checkpoint[Z]]:
    """Yield the chains after each round; their `draws` are one of each chain.

    Parameters
    ----------
    kernel : Kernel
        Takes a step of every chain.
    checkpoint : Checkpoint
        Where the chains stand: what a sampler is called with, or what a round has yielded.
    n_rounds : int
        Rounds in all, those before the checkpoint included.
    n_warmup : int, default 0
        The first draws of each chain that are marked as warmup. 0 in a sampler, since a search marks them itself.
        Example: n_warmup=100.

    Examples
    --------
    What the `make` of a sampler returns, for a kernel of your own::

        def steps(target, begin, n_rounds):
            return rounds(Mixed(small(target), large(target)), begin, n_rounds)
    """
    states = checkpoint.states
    rngs = [load_rng(state) for state in checkpoint.rng_states]
    for index in range(checkpoint.next_index, n_rounds):
        steps = enumerate(kernel.step(rngs, states))
        draws = tuple(replace(d, chain=c, index=index, is_warmup=index < n_warmup) for c, d in steps)
        states = tuple(draw.state for draw in draws)
        yield Checkpoint(states, tuple(save_rng(rng) for rng in rngs), index + 1, draws)


def starts(seed: int, draws: Sequence[Draw[Z]], n_chains: int) -> tuple[State[Z], ...]:
    """Distinct prior draws to start from, near the level set yet dispersed; renders nothing.

    Drawn without replacement by their weights, which are tempered until at least 2 * n_chains draws matter: with
    the plain weights of a rare target all chains would start near one draw, and R-hat could not detect a stuck
    sampler.
    """
    if len(draws) < n_chains:
        raise InputError(
            f"{n_chains} chains need at least as many prior draws, not {len(draws)}; raise prior_scenes"
        )
    log_weights = np.array([draw.state.log_weight for draw in draws])
    power = tempering_power(log_weights, min(2.0 * n_chains, 0.9 * len(draws)))
    gumbel = stream(seed, START_STREAM).gumbel(size=len(draws))
    picked = np.argsort(-(power * log_weights + gumbel), kind="stable")[:n_chains]  # Gumbel top-k
    return tuple(draws[i].state for i in picked)


def tempering_power(log_weights: Floats, ess: float) -> float:
    """The largest power in [0, 1] for which the weights' effective size is at least `ess`."""
    finite = np.where(
        np.isneginf(log_weights), np.min(log_weights[~np.isneginf(log_weights)], initial=0.0), log_weights
    )
    if effective_size(finite) >= ess:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(TEMPERING_STEPS):
        middle = math.sqrt(low * high) if low > 0.0 else high / 8.0
        low, high = (middle, high) if effective_size(middle * finite) >= ess else (low, middle)
    return low
