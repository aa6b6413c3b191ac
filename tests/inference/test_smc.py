"""SMC against the exact mass and posterior of the tiny world, and across a plateau of equally tiny weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.references.draws import scored
from tests.references.statistics import ALPHA
from tests.simulations.plateau import mass as plateau_mass
from tests.simulations.plateau import step_kernel
from tests.simulations.tiny_world import VALID, kernel, posterior, states
from tests.simulations.toy import PixelClassifier
from trex.foundation.errors import RunError
from trex.inference.metropolis import Metropolis
from trex.inference.rng import PARTICLE_STREAM, save_rng, stream
from trex.inference.smc import ENOUGH, Particles, next_level, particles, select, step
from trex.inference.statistics.importance import prior_draws
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, Floats, Z

TARGET = high_confidence(PixelClassifier().labels, "red", width=0.1)
OF = kernel(target=TARGET)
RELATIVE = np.array([state.log_weight for state in states(OF)]) - TARGET.log_peak
MASS = float(np.exp(RELATIVE).mean())


def risen(
    of: Metropolis[Z], start: Particles[Z], moves: int, enough: float = ENOUGH, levels: int = 1000
) -> Particles[Z]:
    """The particles after the last of the moves, or above so many levels."""
    now = start
    while now.power < 1.0 and levels:
        now, levels = select(of.target, now, enough)[0], levels - 1
        for _ in range(moves):
            now, _ = step(of, now)
    return now


def started(seed: int, draws: Sequence[Draw[Z]]) -> Particles[Z]:
    rngs = [save_rng(stream(seed, PARTICLE_STREAM, i)) for i in range(len(draws) + 1)]
    return particles([draw.state for draw in draws], rngs)


def begun(seed: int, of: Metropolis[Z], n: int = 60) -> Particles[Z]:
    return started(seed, prior_draws(seed, range(n), of.prior, of.scorer, of.target))


def run(seed: int, of: Metropolis[tuple[int, int, int]] = OF) -> Particles[tuple[int, int, int]]:
    return risen(of, begun(seed, of), 3)


def masses(of: Metropolis[tuple[int, int, int]], runs: int = 24) -> Floats:
    return np.exp([run(seed, of).log_mass for seed in range(runs)])


@pytest.mark.slow
def test_the_mean_mass_of_many_runs_is_the_exact_one() -> None:
    found = masses(OF)
    assert stats.ttest_1samp(found, MASS).pvalue > ALPHA
    assert found.std() < MASS  # each run is worth something


def test_a_move_that_ignores_the_classifier_is_caught() -> None:
    """Planted: particles move by the prior alone, out of the level set that they stand for."""

    class Blind(Metropolis[tuple[int, int, int]]):
        def log_accept_ratio(self, *args: object) -> float:
            return 0.0

    with pytest.raises(RunError, match="below its level"):
        run(0, Blind(OF.prior, OF.proposal, OF.scorer, OF.target))


@pytest.mark.slow
def test_particles_end_as_draws_of_the_posterior() -> None:
    exact = posterior(OF)
    confidence = np.array([state.log_probs[0] for state in states(OF)])
    means = [
        np.mean([state.log_probs[0] for state in run(seed).states])
        for seed in range(100, 124)
    ]  # fmt: skip
    assert stats.ttest_1samp(means, float(exact @ confidence)).pvalue > ALPHA
    assert stats.ttest_1samp(means, float(confidence.mean())).pvalue < ALPHA  # negative control: the prior


def test_each_rise_keeps_about_half_and_drops_at_least_one() -> None:
    values = np.random.default_rng(0).normal(0.0, 50.0, 100)
    level = next_level(values)
    assert level is not None and np.sum(values >= level) == 50
    assert next_level(np.array([1.0, 1.0, 1.0, 2.0])) == 2.0  # most are equal: those are dropped
    assert next_level(np.zeros(5)) is None


@pytest.mark.slow
def test_it_climbs_a_plateau_where_all_weights_are_equally_tiny() -> None:
    """Powers of the weight, the path before, ended here between 1.4e-87 and 1.5e-3, at .26 of the mass on average."""
    of, exact, found = step_kernel(), plateau_mass(), []
    draws = [d for seed in range(16) for d in prior_draws(seed, range(60), of.prior, of.scorer, of.target)]
    weights = np.array([draw.state.log_weight for draw in draws]) - of.target.log_peak
    assert np.mean(np.abs(weights + 200.0) < 0.1) > 0.9 and exact < 1e-3  # it is one
    for seed in range(16):
        start = started(seed, draws[60 * seed : 60 * (seed + 1)])
        last = risen(of, start, 5)
        found.append(math.exp(last.log_mass))
        hits = [of.target.is_hit(state.log_probs) for state in last.states]
        assert np.mean(hits) > 0.5
    assert stats.ttest_1samp(found, exact).pvalue > ALPHA
    assert 0.5 * exact < np.mean(found) < 2.0 * exact and np.std(found) < exact


@pytest.mark.slow
def test_what_falls_below_a_level_keeps_its_part_in_the_mass() -> None:
    """The closeness at a temperature ranks states unlike the weight; planted: only the last level counts."""
    kept, planted = [], []
    for seed in range(24):
        last = risen(OF, replace(begun(seed, OF), temperature=4.0), 3, enough=0.9)
        kept.append(math.exp(last.log_mass))
        planted.append(kept[-1] - math.exp(last.log_below))
    assert stats.ttest_1samp(kept, MASS).pvalue > ALPHA
    assert stats.ttest_1samp(planted, MASS).pvalue < ALPHA


def test_a_level_that_drops_most_particles_counts_them_by_their_share() -> None:
    """Planted bug: as half of them, which is right unless many are equally close."""
    states = [scored(TARGET, [p, (1.0 - p) / 2.0, (1.0 - p) / 2.0]) for p in [0.8] * 7 + [0.95] * 3]
    draws = [Draw(replace(state, z=VALID[k]), index=k) for k, state in enumerate(states)]
    now, _ = select(TARGET, started(0, draws), enough=0.9)
    assert now.log_above == pytest.approx(math.log(0.3))
    assert now.log_below == pytest.approx(math.log(0.7) + states[0].log_weight - TARGET.log_peak)


def test_a_target_out_of_reach_ends_at_its_tiny_mass() -> None:
    target = high_confidence(PixelClassifier().labels, "blue", width=0.01)
    of = kernel(target=target)
    weights = np.array([state.log_weight for state in states(of)]) - target.log_peak
    last = risen(of, begun(1, of), 2)
    exact = float(weights.max() + np.log(np.mean(np.exp(weights - weights.max()))))
    assert abs(last.log_mass - exact) < math.log(3.0)


def test_a_run_that_stops_early_has_an_estimate_of_the_whole_mass() -> None:
    """Planted: the particles above the level count as if they were all of the prior."""
    found, planted = [], []
    for seed in range(40):
        now = risen(OF, begun(seed, OF), 1, enough=0.9, levels=2)
        assert now.power == 0.0 and math.exp(now.log_above) == pytest.approx(0.25, abs=0.1)
        found.append(math.exp(now.log_mass))
        below = math.exp(now.log_below)
        planted.append(below + (found[-1] - below) / math.exp(now.log_above))
    assert stats.ttest_1samp(found, MASS).pvalue > ALPHA
    assert stats.ttest_1samp(planted, MASS).pvalue < ALPHA


def test_every_move_is_recorded_with_the_weight_of_the_target() -> None:
    """Planted: with that of the level, 0 inside and none outside, which a resumed run would resample by."""
    _, draws = step(OF, select(TARGET, risen(OF, begun(1, OF), 1, 0.9, levels=2), enough=0.9)[0])
    rendered = [draw.proposed for draw in draws if draw.was_rendered]
    assert len(rendered) > 20
    assert [state.log_weight for state in rendered] == [
        TARGET.log_weight(state.log_probs) for state in rendered
    ]
