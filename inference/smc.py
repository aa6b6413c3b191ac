"""Sequential Monte Carlo for rare targets, from the prior batch to the target, through ever closer level sets.

`select` raises the level and `step` moves the particles, a few times after each rise, until their power is 1. Used for
burn-in, and to estimate the mass: average the mass (not its log) over at least 8 runs, with `mean_weight`.

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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from trex.foundation.errors import RunError
from trex.inference.metropolis import Metropolis
from trex.inference.rng import RngState, load_rng, save_rng
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


def particles(states: Sequence[State[Z]], rng_states: Sequence[RngState]) -> Particles[Z]:
    """Draws of the prior as particles above no level."""
    temperature = top_temperature([state.log_probs for state in states])
    return Particles(tuple(states), tuple(rng_states), temperature=temperature)


def select(target: Target, now: Particles[Z], enough: float = ENOUGH) -> tuple[Particles[Z], tuple[int, ...]]:
    """Drop the particles below the next level and put copies of the others in their places; moves and renders none.

    Also gives the place from which each was copied. If the mean relative weight of the particles is `enough`, or no
    level lies above, they are resampled by weight instead, and their `power` is 1 from then on.
    """
    close = Closeness(target, now.temperature)
    closeness = np.array([close(state.log_probs) for state in now.states])
    if closeness.min() < now.level:
        raise RunError(f"a move towards {target!r} ended below its level; the draws of this run were changed")
    log_weights = _relative(target, now.states)
    level = next_level(closeness)
    if level is None or log_mean(log_weights) >= math.log(enough):
        log_mass = float(np.logaddexp(now.log_below, now.log_above + log_mean(log_weights)))
        return _resampled(replace(now, power=1.0, log_mass=log_mass), log_weights)
    is_kept = closeness >= level
    dropped = now.log_above + log_mean(log_weights[~is_kept]) + math.log(1.0 - is_kept.mean())
    risen = replace(
        now,
        level=level,
        log_above=now.log_above + math.log(is_kept.mean()),
        log_below=float(np.logaddexp(now.log_below, dropped)),
    )
    return _resampled(risen, np.where(is_kept, 0.0, -math.inf))


def step(kernel: Metropolis[Z], now: Particles[Z]) -> tuple[Particles[Z], list[Draw[Z]]]:
    """Move every particle once: above the level by the prior; at power 1 by the target, maybe below it again.

    All states returned have the weights of the kernel's own target.
    """
    target = kernel.target
    if now.power < 1.0:
        kernel = replace(kernel, target=Above(Closeness(target, now.temperature), now.level))
    rngs = [load_rng(state) for state in now.rng_states[:-1]]
    moved = kernel.step(rngs, [_weighed(state, kernel.target) for state in now.states])
    draws = [_weighed_draw(draw, target) for draw in moved]
    states = tuple(draw.state for draw in draws)
    saved = (*(save_rng(rng) for rng in rngs), now.rng_states[-1])
    after = replace(now, states=states, rng_states=saved)
    if now.power < 1.0:
        mean = log_mean(_relative(target, states))
        after = replace(after, log_mass=float(np.logaddexp(now.log_below, now.log_above + mean)))
    return after, draws


def _resampled(now: Particles[Z], log_weights: Floats) -> tuple[Particles[Z], tuple[int, ...]]:
    rng = load_rng(now.rng_states[-1])
    ancestors = tuple(resample(rng, log_weights, len(now.states)))
    states = tuple(now.states[place] for place in ancestors)
    return replace(now, states=states, rng_states=(*now.rng_states[:-1], save_rng(rng))), ancestors


def _relative(target: Target, states: Sequence[State[Z]]) -> Floats:
    """(n,): log weights relative to the target's peak."""
    return np.array([state.log_weight for state in states]) - target.log_peak


def _weighed_draw(draw: Draw[Z], target: Target) -> Draw[Z]:
    proposed = draw.proposed
    if proposed is not None and proposed.is_scored:
        proposed = _weighed(proposed, target)
    return replace(draw, state=_weighed(draw.state, target), proposed=proposed)


def _weighed(state: State[Z], target: Target) -> State[Z]:
    return replace(state, log_weight=target.log_weight(state.log_probs))


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
