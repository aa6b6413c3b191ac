"""Tempered SMC against the exact mass and posterior of the tiny world."""

from __future__ import annotations

import numpy as np
from scipy import stats

from tests.references.statistics import ALPHA
from tests.worlds.tiny_world import kernel, posterior, states
from trex.inference.metropolis import Metropolis
from trex.inference.smc import Particles, next_power, particles, stages
from trex.inference.statistics.importance import effective_size, prior_draws
from trex.inference.targets import high_confidence
from trex.inference.toy import PixelClassifier
from trex.inference.types import Floats

TARGET = high_confidence(PixelClassifier().labels, "red", width=0.1)
OF = kernel(target=TARGET)
RELATIVE = np.array([state.evaluation.log_weight for state in states(OF)]) - TARGET.log_peak
MASS = float(np.exp(RELATIVE).mean())


def run(
    seed: int, of: Metropolis[tuple[int, int, int]] = OF, n: int = 60, moves: int = 3
) -> Particles[object]:
    start = particles(seed, prior_draws(seed, range(n), of.prior, of.scorer, of.target))
    *_, last = stages(of, start, moves)
    return last.particles  # type: ignore[return-value]


def masses(of: Metropolis[tuple[int, int, int]], runs: int = 24) -> Floats:
    return np.exp([run(seed, of).log_mass for seed in range(runs)])


def test_the_mean_mass_of_many_runs_is_the_exact_one() -> None:
    found = masses(OF)
    assert stats.ttest_1samp(found, MASS).pvalue > ALPHA
    assert found.std() < MASS  # each run is worth something


def test_a_move_that_ignores_the_classifier_is_caught() -> None:
    """Planted: particles move by the prior alone, so that each rise of the power finds too little."""

    class Blind(Metropolis[tuple[int, int, int]]):
        def log_accept_ratio(self, *args: object) -> float:
            return 0.0

    found = masses(Blind(OF.prior, OF.proposal, OF.scorer, OF.target), runs=8)
    assert stats.ttest_1samp(found, MASS).pvalue < ALPHA


def test_particles_end_as_draws_of_the_posterior() -> None:
    exact = posterior(OF)
    confidence = np.array([state.evaluation.log_probs[0] for state in states(OF)])
    means = [
        np.mean([state.evaluation.log_probs[0] for state in run(seed).states])
        for seed in range(100, 124)
    ]  # fmt: skip
    assert stats.ttest_1samp(means, float(exact @ confidence)).pvalue > ALPHA
    assert stats.ttest_1samp(means, float(confidence.mean())).pvalue < ALPHA  # negative control: the prior


def test_a_stopped_run_resumes_to_the_same_particles() -> None:
    start = particles(9, prior_draws(9, range(40), OF.prior, OF.scorer, OF.target))
    whole = list(stages(OF, start, 2))
    assert len(whole) > 1 and whole[-1].particles.power == 1.0
    again = list(stages(OF, whole[0].particles, 2))
    assert [s.z for s in again[-1].particles.states] == [s.z for s in whole[-1].particles.states]
    assert again[-1].particles.log_mass == whole[-1].particles.log_mass
    assert all(0.0 <= stage.accepted <= 1.0 and stage.renders <= 80 for stage in whole)


def test_each_rise_keeps_half_of_the_particles() -> None:
    log_weights = np.random.default_rng(0).normal(0.0, 50.0, 100)
    power, increment = next_power(0.2, log_weights, 0.5)
    assert power == 0.2 + increment
    assert 50.0 <= effective_size(increment * log_weights) < 55.0
    flat = next_power(0.3, np.zeros(5), 0.5)
    assert flat == (1.0, 0.7)
