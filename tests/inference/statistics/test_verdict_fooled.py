"""Searches that look converged and are not: by chains that ignore the classifier, and by a level set of two parts.

Planted: a kernel without the classifier in its acceptance ratio, with short and with long steps; chains that all start
in one of two modes; a control whose chains start near the easier set, or that counts proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.inference.chains import rounds, start, starts
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.rng import stream
from trex.inference.scoring import Scorer
from trex.inference.statistics.control import LEVEL, Control, attempt, controls
from trex.inference.statistics.diagnostics import basic_summaries
from trex.inference.statistics.how_often import how_often
from trex.inference.statistics.importance import prior_draws, resample
from trex.inference.statistics.two_phase import everyone
from trex.inference.statistics.unvisited import FALSE_ALARM, unvisited
from trex.inference.statistics.verdict import Conclusion, Ending, conclude
from trex.inference.targets import high_confidence
from trex.inference.targets.gaussian import GaussianTarget
from trex.inference.types import Draw, Floats, Pixels, State
from trex.mnist_models.latent import StandardNormal

D, CHAINS, SAMPLE = 2, 4, 200
RANGE = 40.0  # of a coordinate, as a pixel
TARGET = high_confidence(("a", "b"), "a", width=0.05)
Logit = Callable[[Floats], Floats]  # (n, D) -> (n,)
Starts = Callable[[Sequence[Draw[Floats]], int], tuple[State[Floats], ...]]


class Shown:
    """A latent is its own picture, (1, D, 1)."""

    key = "shown"

    def render(self, zs: Sequence[Floats]) -> list[SimpleNamespace]:
        return [SimpleNamespace(pixels=(z / RANGE + 0.5).reshape(1, -1, 1).astype(np.float32)) for z in zs]

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Model:
    """Two answers by the logit of the first."""

    logit: Logit
    labels: tuple[str, ...] = ("a", "b")

    def log_probs(self, images: Pixels) -> Floats:
        logit = self.logit(RANGE * (images[:, 0, :, 0].astype(np.float64) - 0.5))
        found: Floats = -np.logaddexp(0.0, np.stack([-logit, logit], axis=1))
        return found


@dataclass(frozen=True)
class Ignored(GaussianTarget):
    """Planted: the acceptance ratio does not see the classifier."""

    def log_weight(self, log_probs: Floats) -> float:
        return 0.0


def slope(z: Floats) -> Floats:
    """The set is beyond 2 standard deviations in one direction: a prior mass of about 2%."""
    logit: Floats = 4.0 * (z[:, 0] - 1.5)
    return logit


def tail(z: Floats) -> Floats:
    """Far from the origin, whatever the direction."""
    logit: Floats = 4.0 * (np.linalg.norm(z, axis=1) - 2.2)
    return logit


def two_modes(z: Floats) -> Floats:
    """Two parts of equal mass: one with a slope that leads to it, one that begins without warning."""
    led = 4.0 * (z[:, 0] - 1.7)
    found: Floats = np.where(z[:, 0] < -2.25, 4.0, led)
    return found


def kernel(logit: Logit, target: GaussianTarget, scale: float) -> Metropolis[Floats]:
    return Metropolis(StandardNormal(D), GaussianWalk(scale), scorer(logit), target)


def scorer(logit: Logit) -> Scorer[Floats]:
    return Scorer(Shown(), Model(logit), batch=100_000)  # type: ignore[arg-type]


@cache
def sample_of(logit: Logit, seed: int, n: int = SAMPLE) -> tuple[Draw[Floats], ...]:
    return tuple(prior_draws(seed, range(n), StandardNormal(D), scorer(logit), TARGET))


def ignoring(target: GaussianTarget) -> GaussianTarget:
    return Ignored(target.statistic, target.observed, target.width, target.tolerance)


SUMMARIES = {
    **basic_summaries(TARGET),
    **{f"z{k}": (lambda draw, k=k: float(draw.z[k])) for k in range(D)},
    "norm": lambda draw: float(np.linalg.norm(draw.z)),
}


def search(
    logit: Logit,
    seed: int,
    scale: float,
    steps: int = 640,
    is_blind: bool = False,
    start_at: Starts | None = None,
) -> Conclusion:
    """A search as `trex find` makes it: a prior sample, chains from near the set, the conclusion."""
    sample = sample_of(logit, seed)
    target = ignoring(TARGET) if is_blind else TARGET
    begin = start(seed, start_at(sample, seed) if start_at else starts(seed, sample, CHAINS))
    draws = [
        draw
        for done in rounds(kernel(logit, target, scale), begin, steps, steps // 10)
        for draw in done.draws
    ]
    weighed = [
        replace(d, state=replace(d.state, log_weight=TARGET.log_weight(d.state.log_probs))) for d in draws
    ]
    how = how_often(sample, everyone(len(sample)), TARGET)
    return conclude([*sample, *weighed], TARGET, SUMMARIES, how, renders=1)


def reasons(found: Conclusion, *words: str) -> list[str]:
    """Why it has not converged, but for reasons with one of these words."""
    return [sentence for sentence in found.sentences[1:] if not any(word in sentence for word in words)]


@pytest.mark.slow
@pytest.mark.parametrize("logit", [slope, tail])
def test_chains_that_ignore_the_classifier_never_converge(logit: Logit) -> None:
    """20 seeds with a step that mixes well over the prior. Planted: the verdict without the share and size of hits."""
    found = [search(logit, seed, 1.0, is_blind=True) for seed in range(20)]
    assert not any(conclusion.ending is Ending.CONVERGED for conclusion in found)
    without = [
        conclusion
        for conclusion in found
        if not reasons(conclusion, "draws are in the level set", "draws in the level set")
    ]
    assert len(without) >= 8


@pytest.mark.slow
def test_a_right_kernel_converges_still() -> None:
    found = [search(slope, seed, 1.0).ending for seed in range(10)]
    print(found)
    assert found.count(Ending.CONVERGED) >= 7


@pytest.mark.slow
def test_a_second_mode_that_no_chain_visits_is_noticed_where_the_prior_sample_has_a_hit_there() -> None:
    """Never "all of it", and withheld in every run whose own prior sample contradicts. Planted: without the check."""
    noticed = 0
    for seed in range(20):
        found = search(two_modes, seed, 1.0, start_at=led_mode)
        assert "all of" not in " ".join(found.sentences)
        has_hit = any(d.z[0] < 0.0 and TARGET.is_hit(d.state.log_probs) for d in sample_of(two_modes, seed))
        assert not has_hit or found.ending is not Ending.CONVERGED
        noticed += has_hit and not reasons(found, "no chain draw is similar")
    assert noticed >= 5


def led_mode(sample: Sequence[Draw[Floats]], seed: int) -> tuple[State[Floats], ...]:
    """Starts on the side of the mode that has a slope."""
    return starts(seed, [draw for draw in sample if draw.z[0] > 0.0], CHAINS)


@pytest.mark.slow
def test_hits_of_the_set_that_chains_represent_are_seldom_called_missed() -> None:
    """Independent draws of one set, for chains and prior alike: at most FALSE_ALARM of the samples."""
    rng, alarms, repeats = np.random.default_rng(7), 0, 400
    for _ in range(repeats):
        chains = list(rng.normal(size=(CHAINS, 150, 3)))
        alarms += unvisited(rng.normal(size=(5, 3)), chains, np.ones(3)) > 0
    print(f"{alarms} of {repeats}")
    assert stats.binomtest(alarms, repeats, FALSE_ALARM, alternative="greater").pvalue > ALPHA


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_hit_apart_from_all_chains_in_any_one_summary_is_missed(mode: int) -> None:
    """Also in a summary that never changes in the chains, and also with one hit that the chains do represent."""
    rng = np.random.default_rng(8)
    chains = [np.column_stack([rows, np.full(150, 2.0)]) for rows in rng.normal(size=(CHAINS, 150, 2))]
    hits = np.array([[0.1, -0.2, 2.0], [0.0, 0.0, 2.0]])
    scale = np.array([1.0, 1.0, 0.5])
    assert unvisited(hits, chains, scale) == 0
    hits[1, mode] += 5.0
    assert unvisited(hits, chains, scale) == 1
    assert unvisited(hits, chains[:1], scale) == 0  # one chain has no distance to others


def test_a_mode_that_one_chain_alone_visits_is_visited() -> None:
    rng = np.random.default_rng(9)
    chains = [*rng.normal(size=(3, 150, 2)), rng.normal(size=(150, 2)) + 20.0]
    assert unvisited(np.array([[20.0, 20.0]]), chains, np.ones(2)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 32])
def test_a_mode_that_differs_in_one_of_many_summaries_is_missed(d: int) -> None:
    """Half-spaces beyond 1.7 and below -2.25. Planted: distances over all summaries alone see 24 of 40 in 32."""
    rng, seen, alarms, repeats = np.random.default_rng(10), 0, 0, 40
    for _ in range(repeats):
        chains = [beyond(rng, 1.7, 400, d) for _ in range(CHAINS)]
        like = beyond(rng, 1.7, 5, d)
        alarms += unvisited(like, chains, np.ones(d)) > 0
        apart = beyond(rng, 2.25, 1, d) * np.where(np.arange(d) == 0, -1.0, 1.0)
        seen += unvisited(np.concatenate([like, apart]), chains, np.ones(d)) > 0
    print(f"{seen} seen, {alarms} alarms of {repeats}")
    assert seen == repeats
    assert stats.binomtest(alarms, repeats, FALSE_ALARM, alternative="greater").pvalue > ALPHA


def beyond(rng: np.random.Generator, edge: float, n: int, d: int) -> Floats:
    """Draws (n, d) of a standard normal whose first coordinate is beyond an edge."""
    first = stats.norm.isf(rng.uniform(size=n) * stats.norm.sf(edge))
    return np.column_stack([first, rng.normal(size=(n, d - 1))])


def control_of(logit: Logit, seed: int) -> Control[Floats] | None:
    sample = sample_of(logit, 1000 + seed, 400)
    levels = controls(sample, everyone(len(sample)), TARGET, CHAINS)
    return levels[0] if levels else None


def passes(logit: Logit, seed: int, scale: float, is_blind: bool, is_planted: str = "") -> bool | None:
    """Whether chains pass the first level; None without one."""
    easier = control_of(logit, seed)
    if easier is None:
        return None
    picked = resample(stream(seed, 9), np.log(easier.weights), CHAINS)
    first = [easier.outside[k].state for k in picked]
    if "near" in is_planted:
        first = list(starts(seed, easier.outside, CHAINS))
    target = easier.target
    if is_blind:
        target = ignoring(target)
        first = [replace(state, log_weight=0.0) for state in first]
    hits: list[list[bool]] = [[] for _ in range(CHAINS)]
    for done in rounds(kernel(logit, target, scale), start(seed, first), easier.window):
        for row, draw in zip(hits, done.draws, strict=True):
            scored = draw.proposed if "proposals" in is_planted else draw.state
            row.append(scored is not None and easier.target.is_hit(scored.log_probs))
    return attempt(easier, hits).is_passed


def pass_rate(
    logit: Logit, scale: float, is_blind: bool, is_planted: str = "", n: int = 60
) -> tuple[int, int]:
    known = [passes(logit, seed, scale, is_blind, is_planted) for seed in range(n)]
    return sum(bool(item) for item in known), sum(item is not None for item in known)


@pytest.mark.slow
@pytest.mark.parametrize("logit", [slope, tail])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_a_blind_kernel_passes_the_control_one_time_in_twenty_at_most(logit: Logit, scale: float) -> None:
    passed, n = pass_rate(logit, scale, is_blind=True)
    print(f"{passed} of {n}")
    assert n >= 40
    assert passed <= LEVEL * n


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "is_planted"), [(0.5, "near, proposals"), (1.0, "proposals")])
def test_the_blind_kernel_passes_a_control_that_can_be_fooled(scale: float, is_planted: str) -> None:
    """Planted: starts near the easier set, and proposals that count as hits; the second alone is enough."""
    passed, n = pass_rate(tail, scale, is_blind=True, is_planted=is_planted)
    print(f"{passed} of {n}")
    assert stats.binomtest(passed, n, LEVEL, alternative="greater").pvalue < ALPHA


def test_a_right_kernel_passes_the_control_more_often_than_not() -> None:
    passed, n = pass_rate(slope, 1.0, is_blind=False, n=40)
    print(f"{passed} of {n}")
    assert passed > n / 2
