"""Surrogate transitions leave the posterior unchanged, whatever the cheap look says; each planted bug is caught."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.references.rank_test import RankTest, end_p_values, p_values, rank_histograms, smallest
from tests.references.statistics import ALPHA
from tests.simulations.surrogate_worlds import (
    Analytic,
    FewLevels,
    Hashed,
    Noisy,
    OfTheStart,
    OtherLook,
    Rescored,
    Scrambled,
    Uncorrected,
    UpsideDown,
    analytic,
    surrogate_matrix,
    surrogate_steps,
    tiny_surrogate,
)
from tests.simulations.tiny_world import VALID, Tiny, TinyPrior, posterior, states
from tests.simulations.toy import PixelClassifier, PixelRenderer, SquarePrior
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.surrogate import Surrogate
from trex.inference.targets import high_confidence
from trex.inference.types import Floats

ROUNDING = 1e-15
SURE = high_confidence(PixelClassifier().labels, "red", width=0.2)
STATISTICS = {
    "x": lambda state, target: float(state.z[0]),
    "distance": lambda state, target: abs(float(state.z[0] - state.z[1])),
    "confidence": lambda state, target: target.confidence(state.log_probs),
    "log weight": lambda state, target: target.log_weight(state.log_probs),
}
RANKS = RankTest(Metropolis(SquarePrior(), GaussianWalk(0.2), analytic(), SURE), STATISTICS, 4_000, 3, seed=9)
PARTS = (PixelRenderer(), PixelClassifier())
BUGS = [pytest.param(kind, id=kind.__name__) for kind in (Uncorrected, UpsideDown, OfTheStart)]


def imbalance(matrix: Floats, exact: Floats) -> float:
    flow = exact[:, None] * matrix
    return float(np.abs(flow - flow.T).max())


@pytest.mark.parametrize("power", [0.3, 1.0])
@pytest.mark.parametrize("n_inner", [1, 4])
@pytest.mark.parametrize("cheap", [FewLevels(), Scrambled()], ids=["related", "unrelated"])
def test_it_is_in_detailed_balance_with_the_posterior(
    cheap: FewLevels | Scrambled, n_inner: int, power: float
) -> None:
    of = tiny_surrogate(cheap, n_inner, power)
    matrix, exact = surrogate_matrix(of), posterior(of.deciding)
    assert matrix.min() > -ROUNDING
    assert imbalance(matrix, exact) < ROUNDING
    assert np.abs(exact @ matrix - exact).max() < ROUNDING
    assert np.abs(exact @ np.linalg.matrix_power(matrix, 64) - exact).max() < 1e-12


class Tilted(TinyPrior):
    """The later the color, the likelier."""

    def log_density(self, z: Tiny) -> float:
        return super().log_density(z) + 0.5 * z[2]


def test_it_is_in_detailed_balance_where_the_prior_is_not_uniform() -> None:
    of = tiny_surrogate(n_inner=1)
    of = replace(
        of, deciding=replace(of.deciding, prior=Tilted()), leading=replace(of.leading, prior=Tilted())
    )
    uniform = posterior(of.deciding)
    exact = uniform * np.exp([0.5 * z[2] for z in VALID])
    matrix = surrogate_matrix(of)
    assert imbalance(matrix, exact / exact.sum()) < ROUNDING
    assert imbalance(matrix, uniform) > 1e6 * ROUNDING
    rng, state = np.random.default_rng(0), of.init(VALID[0])
    for _ in range(40):  # planted bug: the end was weighed with the prior density of the start
        state = of.step([rng], [state])[0].state
        assert state.log_prior == Tilted().log_density(state.z)


def test_the_cheap_looks_differ_from_the_deciding_one_and_one_of_them_is_useless() -> None:
    of = [tiny_surrogate(cheap) for cheap in (FewLevels(), Scrambled())]
    dear = [state.log_weight for state in states(of[0].deciding)]
    near, far = ([state.log_weight for state in states(surrogate.leading)] for surrogate in of)
    assert 0.5 < stats.spearmanr(dear, near).statistic < 0.999
    assert abs(stats.spearmanr(dear, far).statistic) < 0.2


@pytest.mark.parametrize("kind", BUGS)
def test_a_planted_bug_moves_the_stationary_vector(kind: type[Surrogate[Tiny]]) -> None:
    of = tiny_surrogate(kind=kind)
    matrix, exact = surrogate_matrix(of), posterior(of.deciding)
    assert np.abs(exact @ np.linalg.matrix_power(matrix, 4096) - exact).max() > 1e-4
    assert imbalance(matrix, exact) > 1e6 * ROUNDING


def counts_of_steps(of: Surrogate[Tiny], start: int, n: int = 3_000) -> Floats:
    rng, state = np.random.default_rng(3), states(of.deciding)[start]
    ends = [VALID.index(of.step([rng], [state])[0].z) for _ in range(n)]
    return np.bincount(ends, minlength=len(VALID)).astype(np.float64)


@pytest.mark.parametrize(
    ("kind", "is_right"), [(Surrogate, True), (Uncorrected, False), (UpsideDown, False), (OtherLook, False)]
)
def test_steps_follow_the_exact_row(kind: type[Surrogate[Tiny]], is_right: bool) -> None:
    start = VALID.index((2, 3, 1))
    row = surrogate_matrix(tiny_surrogate(n_inner=2))[start]
    counts = counts_of_steps(tiny_surrogate(n_inner=2, kind=kind), start)
    common = row > 5.0 / counts.sum()
    observed, due = (np.append(v[common], v[~common].sum()) for v in (counts, row * counts.sum()))
    assert bool(stats.chisquare(observed, due).pvalue > ALPHA) is is_right


RIGHT = [
    pytest.param(analytic(0.2), id="smooth"),
    pytest.param(Hashed(*PARTS, shift=0.5), id="jumping"),
    pytest.param(Hashed(*PARTS, shift=20.0), id="unrelated"),
]


@pytest.mark.slow
@pytest.mark.parametrize("cheap", RIGHT)
def test_ends_are_fresh_pairs(cheap: Analytic) -> None:
    assert smallest(end_p_values(RANKS, surrogate_steps(cheap, 4))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*BUGS, pytest.param(OtherLook, id="OtherLook")])
def test_ends_catch_a_planted_bug(kind: type[Surrogate[Floats]]) -> None:
    assert smallest(end_p_values(RANKS, surrogate_steps(analytic(0.5), 4, kind))) < ALPHA


NOISY, JUMPING = Noisy(*PARTS, shift=0.3), Hashed(*PARTS, shift=0.3)
MORE_RANKS = replace(RANKS, n=8_000)


@pytest.mark.slow
def test_ends_catch_a_ratio_of_scores_that_are_not_functions_of_the_latent() -> None:
    assert smallest(end_p_values(MORE_RANKS, surrogate_steps(NOISY, 4, Rescored))) < ALPHA
    assert smallest(end_p_values(MORE_RANKS, surrogate_steps(JUMPING, 4, Rescored))) > ALPHA


@pytest.mark.slow
def test_noise_that_stays_with_its_score_is_an_auxiliary_variable_and_harmless() -> None:
    """The kernel scores each point once and carries that score: exact on pairs of latent and noise."""
    assert smallest(end_p_values(MORE_RANKS, surrogate_steps(NOISY, 4))) > ALPHA
    assert smallest(p_values(rank_histograms(MORE_RANKS, surrogate_steps(NOISY, 4)))) > ALPHA
