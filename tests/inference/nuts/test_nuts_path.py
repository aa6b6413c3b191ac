"""The plateau of a saturated softmax: the path leads off it and leaves no trace in the draws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats

from tests.references.statistics import ALPHA
from tests.worlds.nuts_worlds import LinearWorld, after_warmup, exact_moments, sample
from trex.inference.chains import Checkpoint
from trex.inference.nuts.chain import temperature
from trex.inference.nuts.density import PAPER, Evaluated, Point
from trex.inference.nuts.diagnosis import NutsDiagnosis, diagnose_nuts
from trex.inference.nuts.options import GRADIENTS
from trex.inference.nuts.sampler import Density, NutsOptions
from trex.inference.targets import high_confidence
from trex.inference.tempering import top_temperature
from trex.inference.types import Floats, State, unscored

RARE = LinearWorld(slope=40.0, edge=4.0)  # "x" where z[0] > 4 and z[0] > z[1]: 3e-5 of the prior
TARGET = high_confidence(RARE.labels, "x")
WITH = NutsOptions(warmup=60, path=30, max_depth=6)
SHORT = NutsOptions(warmup=40, path=20, max_depth=4)
WITHOUT = NutsOptions(warmup=40, path=0, max_depth=4)
LIMIT = float(stats.norm.isf(ALPHA / 4))
N = 30


def flat_starts(n: int) -> tuple[State, ...]:
    """Where "neither" is so sure that the target has no gradient at all."""
    zs = np.random.default_rng(2).normal(0.0, 0.5, (n, 2))
    return tuple(unscored(z) for z in zs)


def is_inside(rounds: Sequence[Checkpoint[Floats]]) -> np.ndarray:
    """Whether each draw after warmup is a hit, (draws, chains)."""
    after = [r for r in rounds if not r.draws[0].is_warmup]
    return np.array([[TARGET.is_hit(d.state.log_probs) for d in r.draws] for r in after])


def diagnosis(rounds: Sequence[Checkpoint[Floats]], options: NutsOptions) -> NutsDiagnosis:
    draws = [draw for r in rounds for draw in r.draws]
    return diagnose_nuts(draws, TARGET, options)


def test_the_start_is_on_a_plateau() -> None:
    found = RARE.density(TARGET).evaluate({0: Point(flat_starts(1)[0].z)})[0]
    prior = -flat_starts(1)[0].z  # the gradient of the prior alone
    assert np.array_equal(found.gradient, prior)
    hot = top_temperature([found.state.log_probs])
    led = RARE.density(TARGET).evaluate({0: Point(flat_starts(1)[0].z, hot)})[0].gradient
    assert led[0] > 1.0  # toward x


class Noting(Density):
    """Notes at which temperature each chain asks."""

    asked: ClassVar[dict[int, list[float]]] = defaultdict(list)

    def evaluate(self, points: Mapping[int, Point]) -> dict[int, Evaluated]:
        for chain, point in points.items():
            self.asked[chain].append(point.temperature)
        return super().evaluate(points)


@pytest.fixture(scope="module")
def led() -> list[Checkpoint[Floats]]:
    return sample(Noting(RARE.log_probs, TARGET), flat_starts(4), WITH, N)


@pytest.mark.slow
def test_the_path_leads_every_chain_into_the_level_set(led: list[Checkpoint[Floats]]) -> None:
    assert is_inside(led).mean(0).min() > 0.8
    assert diagnosis(led, WITH).outside == ()


def test_without_the_path_chains_stay_on_the_plateau_and_the_words_say_so() -> None:
    """Some are lucky: the first step sizes that Pyro tries throw them far."""
    rounds = sample(RARE.density(TARGET), flat_starts(4), WITHOUT, N)
    found = diagnosis(rounds, WITHOUT)
    assert len(found.outside) >= 2
    assert not is_inside(rounds)[:, list(found.outside)].any()
    assert any("never came near the level set" in words for words in found.sentences())


@pytest.mark.slow
def test_every_draw_is_asked_at_the_papers_temperature(led: list[Checkpoint[Floats]]) -> None:
    for chain, values in Noting.asked.items():
        on_path = [t > PAPER for t in values]
        last = len(on_path) - on_path[::-1].index(True)
        after = sum(r.draws[chain].figures[GRADIENTS] for r in led[WITH.path :])
        assert sum(on_path) > WITH.path
        assert (
            len(values) - last > after
        )  # all the gradients of warmup and draws, and those of the path's last step
        assert set(values[-after:]) == {PAPER}


def scores(rounds: Sequence[Checkpoint[Floats]]) -> dict[str, float]:
    """z-scores of mean and mean square of z[0] against quadrature of the paper's target."""
    exact = exact_moments(RARE, TARGET, (4.5, 0.0), 0.01)
    x = after_warmup(rounds)[:, :, 0]
    found = {"x": x, "x^2": x**2}
    return {
        name: float((v.mean() - exact[name]) / array_stats.mcse(v, chain_axis=0, draw_axis=1, method="mean"))
        for name, v in found.items()
    }


@pytest.mark.slow
def test_draws_after_the_path_are_from_the_papers_target(led: list[Checkpoint[Floats]]) -> None:
    assert max(abs(score) for score in scores(led).values()) < LIMIT


def test_a_path_left_in_place_is_caught() -> None:
    """Planted: the draws keep the temperature at which the path begins."""

    class Hot(Density):
        def evaluate(self, points):  # type: ignore[no-untyped-def]
            return super().evaluate({c: Point(p.z, 20.0) for c, p in points.items()})

    rounds = sample(Hot(RARE.log_probs, TARGET), flat_starts(4), SHORT, N)
    assert max(abs(score) for score in scores(rounds).values()) > LIMIT


def test_the_temperature_falls_to_exactly_one() -> None:
    falling = [temperature(37.0, i, 30) for i in range(30)]
    assert falling == sorted(falling, reverse=True) and falling[0] < 37.0 and falling[-1] == PAPER
    assert top_temperature([np.log([0.3, 0.3, 0.4])]) == PAPER
    assert top_temperature([np.array([0.0, -40.0, -math.inf])]) == 10.0
