"""Sequential Monte Carlo for rare targets, from the prior batch to the target, through ever closer level sets.

Used for burn-in, and to estimate the mass: average the mass (not its log) over at least 8 runs, with `mean_weight`.

Particles of the prior restricted to {closeness >= level} are kept while the level rises to the median of their
closeness (multilevel splitting: Au and Beck 2001, Probabilistic Engineering Mechanics 16, 263-277; Cerou, Del Moral,
Furon and Guyader 2012, Statistics and Computing 22, 795-808). Only ranks of the closeness matter, and it is computed
at a temperature (`trex.inference.tempering`), so that a plateau of equally tiny weights is climbed: powers of the
weight, tried before, reached 1 on it at once, with a mass of 1e-87. What falls below a new level keeps its part in
the mass: E[weight] = sum over levels of (prior mass of the level) * mean(weight of those that the next level drops),
and the rest at the last. So it does not matter that closeness and weight rank differently.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.inference.metropolis import Metropolis
from trex.inference.rng import PARTICLE_STREAM, RngState, load_rng, save_rng, stream
from trex.inference.statistics.importance import mean_weight, resample
from trex.inference.tempering import Above, Closeness, top_temperature
from trex.inference.types import Draw, Floats, State, Target, Z

ENOUGH = 0.2  # the mean relative weight of the particles from which they are weighed as they are


@dataclass(frozen=True)
class Particles(Generic[Z]):
    """Equally weighted states, the random states, and the estimate of the log mass if all stopped here.

    `power` is 0 while they are draws of the prior above `level`, and 1 once they are draws of the posterior.
    """

    states: tuple[State[Z], ...]
    rng_states: tuple[RngState, ...]  # one per particle, and the last for resampling
    power: float = 0.0
    log_mass: float = 0.0
    temperature: float = 1.0  # of the closeness
    level: float = -math.inf
    log_above: float = 0.0  # log of the prior mass above the level
    log_below: float = -math.inf  # log of what lies below the level in the mean relative weight


class Stage(NamedTuple, Generic[Z]):
    """Particles after one rise of the level, and its cost."""

    particles: Particles[Z]
    renders: int
    accepted: float  # share of the moves


def particles(seed: int, draws: Sequence[Draw[Z]]) -> Particles[Z]:
    """Prior draws as particles above no level."""
    if len(draws) < 2:
        raise InputError(f"{len(draws)} particles are too few; take at least 2, better 100")
    rngs = tuple(save_rng(stream(seed, PARTICLE_STREAM, i)) for i in range(len(draws) + 1))
    temperature = top_temperature([draw.evaluation.log_probs for draw in draws])
    return Particles(tuple(State(draw.z, draw.evaluation) for draw in draws), rngs, temperature=temperature)


def stages(
    kernel: Metropolis[Z], start: Particles[Z], n_moves: int, enough: float = ENOUGH
) -> Iterator[Stage[Z]]:
    """Raise the level until the mean relative weight is `enough`, then weigh; resumable from any stage.

    After each, every particle is moved n_moves times. Towards a target that nothing reaches the levels rise until no
    particle moves any more; a caller with a budget stops before, with the estimate so far in `log_mass`.
    """
    current = start
    while current.power < 1.0:
        stage = _advance(kernel, current, n_moves, enough)
        current = stage.particles
        yield stage


def _advance(kernel: Metropolis[Z], now: Particles[Z], n_moves: int, enough: float) -> Stage[Z]:
    close = Closeness(kernel.target, now.temperature)
    closeness = np.array([close(state.evaluation.log_probs) for state in now.states])
    assert closeness.min() >= now.level, f"a move of {kernel!r} ended below the level"
    log_weights = np.array([state.evaluation.log_weight for state in now.states]) - kernel.target.log_peak
    level = next_level(closeness)
    if level is None or log_mean(log_weights) >= math.log(enough):
        return _finish(kernel, now, log_weights, n_moves)
    return _rise(kernel, replace(now, level=level), closeness >= level, log_weights, n_moves)


def _rise(
    kernel: Metropolis[Z], now: Particles[Z], is_kept: NDArray[np.bool_], log_weights: Floats, n_moves: int
) -> Stage[Z]:
    """Drop the particles below the level, put copies of the others in their places, and move all above it."""
    n, rngs = len(now.states), [load_rng(state) for state in now.rng_states]
    dropped = now.log_above + log_mean(log_weights[~is_kept]) + math.log(1.0 - is_kept.mean())
    chosen = [now.states[i] for i in resample(rngs[-1], np.where(is_kept, 0.0, -math.inf), n)]
    above = Above(Closeness(kernel.target, now.temperature), now.level)
    states, renders, accepted = _move(replace(kernel, target=above), rngs, chosen, n_moves)
    weighed = [_weighed(state, kernel.target) for state in states]
    log_above = now.log_above + math.log(is_kept.mean())
    log_below = float(np.logaddexp(now.log_below, dropped))
    mean = log_mean(np.array([s.evaluation.log_weight for s in weighed]) - kernel.target.log_peak)
    after = replace(
        now,
        states=tuple(weighed),
        rng_states=tuple(save_rng(rng) for rng in rngs),
        log_mass=float(np.logaddexp(log_below, log_above + mean)),
        log_above=log_above,
        log_below=log_below,
    )
    return Stage(after, renders, accepted)


def _finish(kernel: Metropolis[Z], now: Particles[Z], log_weights: Floats, n_moves: int) -> Stage[Z]:
    """Resample by weight, and move by the target itself, which may lead below the level again."""
    rngs = [load_rng(state) for state in now.rng_states]
    chosen = [now.states[i] for i in resample(rngs[-1], log_weights, len(now.states))]
    states, renders, accepted = _move(kernel, rngs, chosen, n_moves)
    log_mass = float(np.logaddexp(now.log_below, now.log_above + log_mean(log_weights)))
    saved = tuple(save_rng(rng) for rng in rngs)
    after = replace(now, states=tuple(states), rng_states=saved, power=1.0, log_mass=log_mass)
    return Stage(after, renders, accepted)


def _move(
    kernel: Metropolis[Z], rngs: Sequence[np.random.Generator], states: Sequence[State[Z]], n_moves: int
) -> tuple[Sequence[State[Z]], int, float]:
    """The states after n_moves steps, the renders, and the accepted share."""
    states, renders, accepted = [_weighed(state, kernel.target) for state in states], 0, 0
    for _ in range(n_moves):
        steps = kernel.step_many(rngs[:-1], states)
        states = [state for state, _ in steps]
        renders += sum(info.was_rendered for _, info in steps)
        accepted += sum(info.is_accepted for _, info in steps)
    return states, renders, accepted / max(1, n_moves * len(states))


def _weighed(state: State[Z], target: Target) -> State[Z]:
    weight = target.log_weight(state.evaluation.log_probs)
    return State(state.z, state.evaluation._replace(log_weight=weight))


def log_mean(log_weights: Floats) -> float:
    """The log of the mean of exp(log_weights)."""
    top = float(np.max(log_weights))
    return top + math.log(mean_weight(log_weights - top)[0])


def next_level(closeness: Floats) -> float | None:
    """The median of the particles' closeness, or the next value above if no particle lies below; None at the end."""
    higher = closeness[closeness > closeness.min()]
    if higher.size == 0:
        return None
    return float(max(np.sort(closeness)[closeness.size // 2], higher.min()))
