"""The positive control: passed by the block kernel, by prior draws in at most one of twenty cases, never by luck alone.

Planted: a search that ignores the classifier, a control that any hit passes, a bank without its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from tests.references.draws import scored
from tests.references.statistics import ALPHA
from tests.worlds.tiny_scene_world import COUNTER, GroundPrior, MapRenderer, block_moves
from trex.inference.chains import rounds, start, starts
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.statistics.control import LEVEL, Attempt, Control, attempt, control_words, controls
from trex.inference.statistics.importance import prior_draws
from trex.inference.statistics.proportion import clopper_pearson
from trex.inference.statistics.two_phase import Selection, design, everyone
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, Floats
from trex.scenes.scene import Scene

TARGET = high_confidence(("a", "b"), "a", width=0.001)  # P(a) is uniform under the prior: a mass is a length
CHAINS, SEED, REPEATS = 4, 20_262, 300


def draws_of(probs: Floats) -> list[Draw[float]]:
    return [Draw(scored(TARGET, [p, 1.0 - p], p), index=i) for i, p in enumerate(probs)]


def blind(rng: np.random.Generator, easier: Control[float], grain: int = 0) -> Attempt:
    """A search that ignores the classifier: each render is a fresh prior draw."""
    probs = uniform(rng, CHAINS * easier.window, grain)
    hits = [easier.target.is_hit(np.log([p, 1.0 - p])) for p in probs]
    return attempt(easier, np.reshape(hits, (CHAINS, easier.window)).tolist())


def uniform(rng: np.random.Generator, n: int, grain: int = 0) -> Floats:
    """Uniform numbers; with a grain, rounded to so many values, so that many are equal."""
    values = rng.uniform(1e-6, 1.0 - 1e-6, n)
    return np.clip(np.round(values * grain) / grain, 1e-6, 1.0 - 1e-6) if grain else values


def plain(rng: np.random.Generator, grain: int = 0) -> tuple[Control[float], ...]:
    return controls(draws_of(uniform(rng, 200, grain)), everyone(200), TARGET, CHAINS)


def banked(rng: np.random.Generator, grain: int = 0) -> tuple[Control[float], ...]:
    """100 of a bank of 1,000, chosen by a cheap score with a rank correlation of about .8."""
    probs = uniform(rng, 1000)
    chosen = design(int(rng.integers(1 << 30)), probs + 0.2 * rng.normal(size=1000), 100)
    return controls(draws_of(probs[chosen.members]), chosen, TARGET, CHAINS)


def passes(
    sample: Callable[[np.random.Generator, int], tuple[Control[float], ...]],
    grain: int = 0,
    change: Callable[[Control[float]], Control[float]] = lambda easier: easier,
    repeats: int = REPEATS,
) -> tuple[int, int]:
    """How often the blind search passes the first level, and of how many."""
    rng = np.random.default_rng(SEED)
    passed = [
        blind(rng, change(levels[0]), grain).is_passed
        for _ in range(repeats)
        if (levels := sample(rng, grain))
    ]
    return sum(passed), len(passed)


def too_often(passed: int, n: int) -> float:
    """The p-value of so many passes if their chance were at most LEVEL."""
    return float(stats.binomtest(passed, n, LEVEL, alternative="greater").pvalue)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "grain"), [(plain, 0), (plain, 150), (banked, 0)], ids=["plain", "ties", "bank"]
)
def test_a_search_that_ignores_the_classifier_passes_one_time_in_twenty_at_most(
    sample: Callable[[np.random.Generator, int], tuple[Control[float], ...]], grain: int
) -> None:
    passed, n = passes(sample, grain)
    print(f"{passed} of {n}")
    assert n > REPEATS / 3
    assert too_often(passed, n) > ALPHA


class OneIsEnough(Control[float]):
    """Planted: passed if any chain hits, as long as it likes to take."""

    @property
    def needed(self) -> int:
        return 1

    window = 500  # type: ignore[assignment]


def lenient(easier: Control[float]) -> Control[float]:
    return OneIsEnough(
        easier.target, easier.mass, easier.counts, easier.outside, easier.weights, easier.chains
    )


@pytest.mark.slow
def test_the_blind_search_passes_a_test_that_any_hit_passes() -> None:
    """Planted: what a control asked for before."""
    assert too_often(*passes(plain, change=lenient, repeats=60)) < ALPHA


def test_the_chance_of_prior_draws_is_exact() -> None:
    """Against the sum over binomials with moments of the Beta distribution."""
    easier = Control(TARGET, plain(np.random.default_rng(1))[0].mass, (3.0, 198.0), (), np.ones(0), CHAINS)
    for hit, renders in ((1, 5), (3, 16), (4, 40)):
        exact = sum(
            math.comb(CHAINS, m) * (-1) ** i * math.comb(m, i)
            * math.exp(_log_beta(3.0, 198.0 + renders * (CHAINS - m + i)) - _log_beta(3.0, 198.0))
            for m in range(hit, CHAINS + 1)
            for i in range(m + 1)
        )  # fmt: skip
        assert easier.chance(hit, renders) == pytest.approx(exact, rel=0.01)
    assert easier.chance(3, easier.window) <= LEVEL < easier.chance(3, easier.window + 1)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def test_masses_are_those_of_the_sample_and_their_counts_clopper_and_pearsons() -> None:
    rng = np.random.default_rng(SEED)
    first, second = controls(draws_of(uniform(rng, 3000)), everyone(3000), TARGET, CHAINS)
    assert (first.mass.value, second.mass.value) == (0.01, 0.001)
    assert first.counts == pytest.approx((31.0, 2970.0))
    assert stats.beta.ppf(0.975, *first.counts) == pytest.approx(clopper_pearson(30, 3000).high)
    assert not any(first.target.is_hit(draw.state.log_probs) for draw in first.outside)
    assert second.window > 5 * first.window


def test_a_bank_counts_each_scene_for_those_it_stands_for() -> None:
    """Without the weights the 1% nearest of the evaluated scenes would be taken for 1% of the prior."""
    rng, near = np.random.default_rng(SEED), []
    for _ in range(60):
        probs = uniform(rng, 1000)
        chosen = design(int(rng.integers(1 << 30)), probs + 0.2 * rng.normal(size=1000), 100)
        draws = draws_of(probs[chosen.members])
        for selection in (chosen, Selection(np.arange(len(draws)), np.ones(len(draws)))):
            levels = controls(draws, selection, TARGET, CHAINS)
            radius = levels[0].target.statistic.radius * 0.001 if levels else math.nan  # type: ignore[attr-defined]
            near.append((radius, levels[0].mass.value if levels else math.nan))
    truth, array = np.array(near)[:, 0].reshape(-1, 2), np.array(near)[:, 1].reshape(-1, 2)
    ratio = np.nanmean(truth, axis=0) / np.nanmean(array, axis=0)
    assert 0.6 < ratio[0] < 1.6
    assert ratio[1] < 0.5  # planted: no weights


ALIKE = np.full(500, 0.3)
FEW = np.linspace(0.01, 0.99, 60)
NO_CONTROL = {
    "all alike": (ALIKE, 4),
    "too few": (FEW, 4),
    "too few outside": (np.linspace(0.01, 0.99, 120), 120),
}


@pytest.mark.parametrize(("probs", "n_chains"), NO_CONTROL.values(), ids=list(NO_CONTROL))
def test_there_is_no_control_where_no_mass_is_known(probs: Floats, n_chains: int) -> None:
    assert controls(draws_of(probs), everyone(len(probs)), TARGET, n_chains) == ()


def test_an_attempt_ends_when_it_is_decided() -> None:
    easier = plain(np.random.default_rng(4))[0]
    late, never = [False] * easier.window + [True], [False] * easier.window
    assert not attempt(easier, [[], [], [], []]).is_decided
    assert attempt(easier, [[True], [False, True], [True], []]).is_passed
    assert attempt(easier, [[True], [False, True], [True], []]).is_decided
    assert not attempt(easier, [never, [True], [True], [False]]).is_decided
    lost = attempt(easier, [never, late, [True], [True]])
    assert lost.is_decided and not lost.is_passed and lost.n_hit == 2


def test_words_give_the_numbers_and_claim_nothing_after_a_failure() -> None:
    first, second = controls(
        draws_of(uniform(np.random.default_rng(5), 2000)), everyone(2000), TARGET, CHAINS
    )
    won, lost = attempt(first, [[True]] * 4), attempt(second, [[False] * second.window] * 4)
    assert "prior mass 1.0%" in won.sentence() and f"4 of {CHAINS} chains" in won.sentence()
    assert f"within {first.window} renders" in won.sentence()
    assert "finds what is there" in control_words([won])
    assert "finds what is there" not in control_words([won, lost])
    assert "says no more than the prior draws" in control_words([won, lost])


PRIOR = GroundPrior(n_objects=(3, 3))
SCORER = Scorer(MapRenderer(), COUNTER, batch=100_000)
RARE = high_confidence(COUNTER.labels, "3", width=0.01)
MANY = 8


def search(easier: Control[Scene], seed: int) -> Attempt:
    """The block kernel, up to the decision."""
    kernel = Metropolis(PRIOR, block_moves(PRIOR), SCORER, easier.target)
    hits: list[list[bool]] = [[] for _ in range(MANY)]
    for done in rounds(kernel, start(seed, starts(seed, easier.outside, MANY)), 5000):
        for row, draw in zip(hits, done.draws, strict=True):
            if draw.proposed.is_scored:
                row.append(easier.target.is_hit(draw.proposed.log_probs))
        if attempt(easier, hits).is_decided:
            break
    return attempt(easier, hits)


def test_the_block_kernel_passes_both_rungs() -> None:
    draws = prior_draws(SEED, range(4000), PRIOR, SCORER, RARE)
    levels = controls(draws, everyone(4000), RARE, MANY)
    assert len(levels) == 2
    outcomes = [search(easier, SEED + rank) for rank, easier in enumerate(levels)]
    print(control_words(outcomes))
    assert all(outcome.is_passed for outcome in outcomes)


def test_a_control_starts_with_the_weights_of_its_own_target() -> None:
    """Planted: with those of the query's, every first move is accepted that nears the easier set."""
    draws = draws_of(uniform(np.random.default_rng(SEED), 3000))
    for easier in controls(draws, everyone(3000), TARGET, CHAINS):
        scored = [draw.state for draw in easier.outside]
        weights = [state.log_weight for state in scored]
        assert weights == [easier.target.log_weight(state.log_probs) for state in scored]
        assert weights != [TARGET.log_weight(state.log_probs) for state in scored]


def test_the_last_render_of_the_window_counts() -> None:
    easier = plain(np.random.default_rng(4))[0]
    last = [False] * (easier.window - 1) + [True]
    assert attempt(easier, [last] * CHAINS).n_hit == CHAINS
    assert attempt(easier, [[False, *last]] * CHAINS).n_hit == 0
