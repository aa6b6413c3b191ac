"""Exact rank tests on the toy square: right kernels pass, each planted bug is caught. Seeds are fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.references.rank_test import (
    RankTest,
    end_p_values,
    p_values,
    rank_histograms,
    smallest,
    together,
)
from tests.references.statistics import ALPHA
from tests.simulations.toy import PixelClassifier, PixelRenderer, SquarePrior
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence, k_way
from trex.inference.targets.gaussian import GaussianTarget
from trex.inference.types import Floats, Proposal, State, Target

PRIOR = SquarePrior()
SCORER = Scorer(PixelRenderer(), PixelClassifier(), batch=100_000)
LABELS = PixelClassifier().labels
SURE = high_confidence(LABELS, "red", width=0.4)
TORN = k_way(LABELS, ("red", "green"), width=0.15)
WALK = GaussianWalk(0.2)
STATISTICS = {
    "x": lambda state, target: float(state.z[0]),
    "off center": lambda state, target: float(np.max(np.abs(state.z - 0.5))),
    "distance": lambda state, target: abs(float(state.z[0] - state.z[1])),
    "confidence": lambda state, target: target.confidence(state.log_probs),
    "log weight": lambda state, target: target.log_weight(state.log_probs),
}
N = 6_000
LENGTH = 5


@dataclass(frozen=True)
class SizedWalk:
    """A Gaussian step whose size grows with x: not symmetric, so that the Hastings ratio matters."""

    def _walk(self, z: Floats) -> GaussianWalk:
        return GaussianWalk(0.1 + 0.5 * float(np.clip(z[0], 0.0, 1.0)) ** 2)

    def propose(self, rng: np.random.Generator, z: Floats) -> Floats:
        return self._walk(z).propose(rng, z)

    def log_q(self, to: Floats, given: Floats) -> float:
        return self._walk(given).log_q(to, given)


class SizedWalkWithoutRatio(SizedWalk):
    """Planted: claims to be symmetric."""

    def log_q(self, to: Floats, given: Floats) -> float:
        return 0.0


@dataclass(frozen=True)
class RetryingWalk:
    """Planted (D5): draws until the point is valid, with the density of one draw."""

    inner: Proposal[Floats] = WALK

    def propose(self, rng: np.random.Generator, z: Floats) -> Floats:
        while True:
            to = self.inner.propose(rng, z)
            if PRIOR.log_density(to) > -math.inf:
                return to

    def log_q(self, to: Floats, given: Floats) -> float:
        return self.inner.log_q(to, given)


@dataclass(frozen=True)
class MisScaled:
    """Planted: weighs with a width twice the one that it states and simulates with."""

    inner: GaussianTarget

    @property
    def log_peak(self) -> float:
        return self.inner.log_peak

    def log_weight(self, log_probs: Floats) -> float:
        wider = replace(self.inner, width=tuple(2.0 * w for w in self.inner.width))
        return wider.log_weight(log_probs)

    def simulate(self, rng: np.random.Generator, log_probs: Floats) -> Target:
        return MisScaled(self.inner.simulate(rng, log_probs))

    def is_hit(self, log_probs: Floats) -> bool:
        return self.inner.is_hit(log_probs)

    def confidence(self, log_probs: Floats) -> float:
        return self.inner.confidence(log_probs)

    def describe(self) -> str:
        return self.inner.describe()


def only_accepted(
    rng: np.random.Generator, kernels: Sequence[Metropolis[Floats]], states: Sequence[State[Floats]]
) -> list[State[Floats]]:
    """Planted (D9): rejected steps leave no draw, so each draw is a move that was accepted."""
    after, waiting = list(states), list(range(len(states)))
    while waiting:
        moved = together(rng, [kernels[i] for i in waiting], [states[i] for i in waiting])
        for i, state in zip(waiting, moved, strict=True):
            after[i] = state
        waiting = [i for i in waiting if after[i] is states[i]]
    return after


def chain(
    proposal: Proposal[Floats] = WALK,
    target: Target = SURE,
    power: float = 1.0,
    n: int = N,
    length: int = LENGTH,
) -> RankTest[Floats]:
    return RankTest(
        Metropolis(PRIOR, proposal, SCORER, target, power), STATISTICS, n, length, seed=20_210_202
    )


RIGHT = [
    pytest.param(chain(), id="walk-high-confidence"),
    pytest.param(chain(SizedWalk(), TORN), id="sized-walk-ambiguous-pair"),
]


@pytest.mark.slow
@pytest.mark.parametrize("test", RIGHT)
def test_ranks_of_a_right_kernel_are_uniform(test: RankTest[Floats]) -> None:
    assert smallest(p_values(rank_histograms(test))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("test", RIGHT)
def test_ends_of_a_right_kernel_are_fresh_pairs(test: RankTest[Floats]) -> None:
    assert smallest(end_p_values(test)) > ALPHA


def test_ranks_catch_a_mis_scaled_width() -> None:
    assert smallest(p_values(rank_histograms(chain(target=MisScaled(SURE))))) < ALPHA


def test_ranks_of_the_log_weight_catch_a_sampler_that_ignores_the_classifier() -> None:
    found = p_values(rank_histograms(chain(power=0.0)))
    assert found["log weight"] < ALPHA / len(found)
    del found["log weight"], found["confidence"]
    assert smallest(found) > ALPHA  # the prior alone is kept: only what depends on the observation shows it


@pytest.mark.slow
def test_ends_catch_retries_until_valid() -> None:
    """D5."""
    assert smallest(end_p_values(chain(RetryingWalk()))) < ALPHA


def test_ends_catch_a_missing_hastings_ratio() -> None:
    assert smallest(end_p_values(chain(SizedWalkWithoutRatio()))) < ALPHA


@pytest.mark.slow
def test_ends_catch_that_only_accepted_draws_are_kept() -> None:
    """D9."""
    assert smallest(end_p_values(chain(GaussianWalk(0.15), n=6_000, length=6), only_accepted)) < ALPHA
