"""NUTS agrees with quadrature; each planted bug is caught. Seeds are fixed.

A planted gradient of the wrong sign is none of them: leapfrog steps with any force keep volume and run backward, and
energies are compared exactly, so that such a sampler is slow but right. What decides is the energy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from arviz_stats.base import array_stats
from scipy import stats

from tests.references.rank_test import RankTest, end_p_values, smallest
from tests.references.statistics import ALPHA
from tests.worlds.nuts_worlds import MOMENTS, LinearWorld, Normal, after_warmup, exact_moments, sample
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.nuts.checkpoint import NutsTuning
from trex.inference.nuts.density import Evaluated, Point, standard_normal
from trex.inference.nuts.kernel import tuned
from trex.inference.nuts.sampler import Density, NutsOptions
from trex.inference.targets import GaussianTarget, high_confidence, k_way
from trex.inference.types import Floats, State

LINE = LinearWorld(d=2)
FIVE = LinearWorld(d=5)
SURE = high_confidence(LINE.labels, "x", width=0.2)
TORN = k_way(LINE.labels, ("x", "y"), width=0.2)
LIMIT = float(stats.norm.isf(ALPHA / (2 * len(MOMENTS))))  # about 4.9
OPTIONS = NutsOptions(warmup=40, path=10, max_depth=4)
CASES = [
    pytest.param(LINE, SURE, id="sure-2d"),
    pytest.param(FIVE, TORN, id="torn-5d"),
]


def log_weights(world: LinearWorld, target: GaussianTarget, zs: Floats) -> Floats:
    found: Floats = target.log_weights(world.log_probs(torch.from_numpy(zs)).numpy())
    return found


def chain_scores(world: LinearWorld, target: GaussianTarget, zs: Floats) -> dict[str, float]:
    """z-scores of every moment of draws (chains, draws, d), by ArviZ's standard error of the mean."""
    expected = exact_moments(world, target, (0.0, 0.0))
    flat = zs.reshape(-1, zs.shape[-1])
    weights = log_weights(world, target, flat)
    found = {}
    for name, f in MOMENTS.items():
        values = f(flat, weights).reshape(zs.shape[:2])
        error = float(array_stats.mcse(values, chain_axis=0, draw_axis=1, method="mean"))
        found[name] = float(values.mean() - expected[name]) / error
    return found


def nuts_scores(
    world: LinearWorld, target: GaussianTarget, density: Density, n: int = 150
) -> dict[str, float]:
    states = world.states(3, 8, target)
    return chain_scores(world, target, after_warmup(sample(density, states, OPTIONS, n)))


def worst(scores: Mapping[str, float]) -> float:
    print(scores)
    return max(abs(score) for score in scores.values())


@pytest.mark.slow
@pytest.mark.parametrize(("world", "target"), CASES)
def test_nuts_agrees_with_quadrature(world: LinearWorld, target: GaussianTarget) -> None:
    assert worst(nuts_scores(world, target, world.density(target, lane=8))) < LIMIT


class HalfEnergy(Density):
    """Planted: the right gradient, but half of the log weight is missing in the energy."""

    def evaluate(self, points: Mapping[int, Point]) -> dict[int, Evaluated]:
        found = super().evaluate(points)
        return {c: e._replace(log_density=e.log_density - 0.5 * e.state.log_weight) for c, e in found.items()}


def planted() -> dict[str, Density]:
    """Wrong densities for SURE on LINE."""
    right = LINE.density(SURE, lane=8)
    return {
        "no log prior": replace(right, log_prior=lambda z: 0.0 * z.sum(-1)),
        "half the log prior": replace(right, log_prior=lambda z: 0.5 * standard_normal(z)),
        "path left in place": replace(right, log_probs=lambda z: (LINE.log_probs(z) / 3.0).log_softmax(1)),
        "wrong energy": HalfEnergy(LINE.log_probs, SURE, lane=8),
    }


@pytest.mark.slow
@pytest.mark.parametrize("bug", ["half the log prior", "path left in place", "wrong energy"])
def test_a_planted_bug_disagrees_with_quadrature(bug: str) -> None:
    assert worst(nuts_scores(LINE, SURE, planted()[bug])) > LIMIT


STATISTICS = {
    "x": lambda state, target: float(state.z[0]),
    "size": lambda state, target: float(state.z @ state.z),
    "confidence": lambda state, target: target.confidence(state.log_probs),
    "log weight": lambda state, target: target.log_weight(state.log_probs),
}


def one_step(make: Density, width_factor: float = 1.0):  # type: ignore[no-untyped-def]
    """A transition of gandy_scott: one trajectory of Pyro's NUTS for each pair of latent and observation."""

    def transition(
        rng: np.random.Generator, kernels: Sequence[Metropolis[Floats]], states: Sequence[State[Floats]]
    ) -> list[State[Floats]]:
        torch.manual_seed(int(rng.integers(1 << 32)))
        return [
            _moved(make, kernel.target, state, width_factor)
            for kernel, state in zip(kernels, states, strict=True)
        ]

    return transition


def _moved(make: Density, target: GaussianTarget, state: State[Floats], width_factor: float) -> State[Floats]:
    weighed = replace(target, width=tuple(width_factor * w for w in target.width))
    density = replace(make, target=weighed)
    kernel = tuned(
        NutsTuning(0.7, (1.0,) * state.z.size),
        state.z,
        lambda point: density.evaluate({0: point})[0],
        NutsOptions(max_depth=2),
    )
    kernel.step()
    return kernel.state


def ends(transition, n: int = 300) -> float:  # type: ignore[no-untyped-def]
    kernel = Metropolis(Normal(2), GaussianWalk(1.0), LINE.scorer, SURE)
    return smallest(end_p_values(RankTest(kernel, STATISTICS, n, 1, seed=20_210_202), transition))


def test_pairs_of_latent_and_observation_keep_their_law() -> None:
    """The exact test for kernels that are not reversible, as NUTS is not: the two-sample form (Gandy and Scott)."""
    assert ends(one_step(LINE.density(SURE, lane=1))) > ALPHA


@pytest.mark.parametrize("bug", ["no log prior", "path left in place", "wrong width"])
def test_the_law_of_pairs_catches_a_planted_bug(bug: str) -> None:
    if bug == "wrong width":
        assert ends(one_step(LINE.density(SURE, lane=1), width_factor=3.0)) < ALPHA
    else:
        assert ends(one_step(replace(planted()[bug], lane=1))) < ALPHA
