"""Exact tests of a sampler (Gandy and Scott, "Unit testing for MCMC", 2020), whatever the chain's length.

Ranks: draw z from the prior, simulate the target's observation for it, put z at a random place of a chain of fixed
length, and run the (reversible) kernel from there to both ends. If the kernel leaves the posterior unchanged, the rank
of z among the chain is exactly uniform, for every statistic.

Ends: after any number of steps from z the pair (state, observation) still has the law that it had at first, so
statistics of the ends and of fresh pairs are two samples of one distribution. More sensitive to slow drifts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from trex.inference.metropolis import Metropolis
from trex.inference.types import State, Target, Z, unscored

Statistic = Callable[[State[Z], Target], float]
Transition = Callable[[np.random.Generator, Sequence[Metropolis[Z]], Sequence[State[Z]]], list[State[Z]]]
Ranks = dict[str, NDArray[np.int64]]


@dataclass(frozen=True)
class RankTest(Generic[Z]):
    """What is tested: `kernel` holds prior, proposal, scorer and the target whose observation is simulated."""

    kernel: Metropolis[Z]
    statistics: Mapping[str, Statistic[Z]]
    n: int
    length: int  # of the chain in steps
    seed: int


def together(
    rng: np.random.Generator, kernels: Sequence[Metropolis[Z]], states: Sequence[State[Z]]
) -> list[State[Z]]:
    """One step of every chain, each with its own target, all pictures scored at once."""
    candidates = [kernel.propose(rng, state) for kernel, state in zip(kernels, states, strict=True)]
    scored = iter(kernels[0].scorer.score([c.z for c in candidates if c.is_possible]))
    after = []
    for kernel, state, c in zip(kernels, states, candidates, strict=True):
        proposed = kernel.weigh(c.z, c.log_prior, next(scored)) if c.is_possible else unscored(c.z)
        after.append(kernel.decide(rng, state, c, proposed).state)
    return after


def rank_histograms(test: RankTest[Z], transition: Transition[Z] = together) -> Ranks:
    """Counts of each rank, (length + 1,), for every statistic; ties are broken at random."""
    rng = np.random.default_rng(test.seed)
    origins, kernels = _simulate(rng, test)
    places = rng.integers(test.length + 1, size=test.n)
    visits: list[list[State[Z]]] = [[] for _ in origins]
    states = list(origins)
    for step in range(test.length):
        states = [o if step == place else s for o, s, place in zip(origins, states, places, strict=True)]
        states = transition(rng, kernels, states)
        for visited, state in zip(visits, states, strict=True):
            visited.append(state)
    return {name: _histogram(rng, f, origins, kernels, visits) for name, f in test.statistics.items()}


def end_p_values(test: RankTest[Z], transition: Transition[Z] = together) -> dict[str, float]:
    """Two-sample Kolmogorov-Smirnov p values: ends of n chains against n fresh pairs."""
    rng = np.random.default_rng(test.seed)
    fresh, fresh_kernels = _simulate(rng, test)
    states, kernels = _simulate(rng, test)
    for _ in range(test.length):
        states = transition(rng, kernels, states)
    found = {}
    for name, f in test.statistics.items():
        before = [f(state, kernel.target) for state, kernel in zip(fresh, fresh_kernels, strict=True)]
        after = [f(state, kernel.target) for state, kernel in zip(states, kernels, strict=True)]
        found[name] = float(stats.ks_2samp(before, after, method="asymp").pvalue)
    return found


def _simulate(rng: np.random.Generator, test: RankTest[Z]) -> tuple[list[State[Z]], list[Metropolis[Z]]]:
    zs = [test.kernel.prior.sample(rng) for _ in range(test.n)]
    origins, kernels = [], []
    for z, scored in zip(zs, test.kernel.scorer.score(zs), strict=True):
        target = test.kernel.target.simulate(rng, scored.log_probs)
        log_prior, log_weight = test.kernel.prior.log_density(z), target.log_weight(scored.log_probs)
        origins.append(State(z, log_prior, log_weight, scored.log_probs))
        kernels.append(replace(test.kernel, target=target))
    return origins, kernels


def _histogram(
    rng: np.random.Generator,
    statistic: Statistic[Z],
    origins: Sequence[State[Z]],
    kernels: Sequence[Metropolis[Z]],
    visits: Sequence[Sequence[State[Z]]],
) -> NDArray[np.int64]:
    length = len(visits[0])
    counts = np.zeros(length + 1, np.int64)
    for origin, kernel, visited in zip(origins, kernels, visits, strict=True):
        own = statistic(origin, kernel.target)
        others = [statistic(state, kernel.target) for state in visited]
        below, ties = sum(v < own for v in others), sum(v == own for v in others)
        counts[below + int(rng.integers(ties + 1))] += 1
    return counts


def p_values(ranks: Ranks) -> dict[str, float]:
    """Chi-square of each histogram against the uniform one."""
    return {name: float(stats.chisquare(counts).pvalue) for name, counts in ranks.items()}


def smallest(found: Mapping[str, float]) -> float:
    """The smallest p value times the number of statistics (Bonferroni); below ALPHA the kernel is wrong."""
    return min(1.0, len(found) * min(found.values()))
