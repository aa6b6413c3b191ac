"""The simulation of rates takes the decisions of a search, and finds intervals that do not hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from benchmarks import rates
from benchmarks.rates import Cell, World, figures, reported, run, stored, world_of
from tests.references.statistics import ALPHA
from trex.inference.statistics import two_phase
from trex.inference.statistics.gate import LEAST_SCENES, gate
from trex.inference.statistics.two_phase import Selection, with_spread
from trex.inference.types import PRIOR_CHAIN, Draw
from trex.query.schema import SearchSection
from trex.search.sampling.calibration import calibration_places
from trex.search.sampling.prior_plan import SAMPLED_LEVEL, PriorPlan
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import Latent


@dataclass(frozen=True)
class Scored:
    """A draw and its state at once; `log_probs` is above 0 for a hit."""

    log_weight: float
    log_probs: float
    chain: int = PRIOR_CHAIN
    z: float = 0.0

    @property
    def state(self) -> Scored:
        return self


class Truth:
    """A target whose hits lie above 0."""

    log_peak = 0.0

    def is_hit(self, number: float) -> bool:
        return number > 0.0

    def confidence(self, number: float) -> float:
        return number


def searched(world: World, cell: Cell, seed: int) -> PriorSample:
    """What the plan of a search reports of these scenes, drawn as `trex.search.search.Search` does."""
    options = SearchSection(
        seed=seed, bank=cell.bank, prior_scenes=rates.FIRST, chains=4, steps=500, kernel=cell.kernel, spread=0
    )
    scenes = [Scored(w, float(h)) for w, h in zip(world.log_weights.tolist(), world.hits, strict=True)]
    looks = [tuple(Scored(score, 0.0) for score in scores) for scores in world.scores.tolist()]
    plan, draws = PriorPlan(cast(Any, Truth()), options, cast(Any, looks[0])), list[Draw[Latent]]()

    def has_enough() -> bool:
        return 0 < cell.stop <= sum(bool(cast(Any, draw).log_probs > 0) for draw in draws)

    def draw(plan: PriorPlan, end: int) -> None:
        members = plan.members[len(draws) - plan.n_before : end - plan.n_before]
        draws.extend(cast(Any, scenes[member]) for member in members)

    def sampled(plan: PriorPlan) -> PriorSample:
        draw(plan, plan.n_initial)
        if not has_enough():
            draw(plan, plan.n_wanted(draws))
        return plan.sample(draws)

    sample = sampled(plan)
    if cell.kernel != SURROGATE or has_enough() or sample.is_enough or len(sample.draws) < LEAST_SCENES:
        return sample
    places = list(calibration_places(seed, sample))
    cheap = log_weights(plan.bank)[sample.selection.members[places]]
    if gate(cheap, log_weights(sample.draws)[places]).passes:
        return sample
    return sampled(plan.rescored(cast(Any, looks[1]), draws))


@pytest.mark.parametrize("kernel", ["block", SURROGATE])
@pytest.mark.parametrize(("rate", "correlation"), [(0.01, 0.5), (0.05, 0.5), (0.1, 0.0), (0.3, 0.8)])
def test_it_reports_the_sample_that_a_search_reports(
    kernel: str, rate: float, correlation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: always the first sample; never another look."""
    monkeypatch.setattr(two_phase, "own_numbers", lambda seed, kind, n: rates.numbers_of(seed, n))
    large = second = 0
    for stop, seed in ((0, 1), (4, 2), (20, 3), (0, 4)):
        cell = Cell(500, kernel, rate, correlation, stop)
        world = world_of(cell, seed)
        ours, theirs = reported(world, cell, seed), searched(world, cell, seed).selection
        assert ours.members.tolist() == theirs.members.tolist()
        assert ours.inclusion == pytest.approx(theirs.inclusion)
        large += ours.members.size > 2 * rates.FIRST
        second += bool(np.any(np.diff(ours.inclusion[np.argsort(-world.scores[0])]) > 0.0))
    assert large or rate != 0.1
    assert second or kernel != SURROGATE or rate != 0.01


def coverage(cell: Cell, design: str, level: float, repeats: int) -> float:
    (row,) = (row for row in figures(cell, repeats) if (row["design"], row["level"]) == (design, level))
    return float(cast(float, row["coverage"]))


def holds(covered: float, repeats: int) -> bool:
    """No evidence of less than 95%: an exact interval would show fewer with a chance of ALPHA."""
    return bool(stats.binom.cdf(round(covered * repeats), repeats, 0.95) > ALPHA)


CELL, REPEATS = Cell(1000, "block", 0.05, 0.8, 0), 400


@pytest.mark.slow
@pytest.mark.parametrize("design", ["own", "500 spread"])
def test_the_intervals_hold(design: str) -> None:
    assert holds(coverage(CELL, design, SAMPLED_LEVEL, REPEATS), REPEATS)


def forgetful(first: Selection, spread: Sequence[int], share: float) -> Selection:
    """Planted bug: the members of both samples, each with its chance to be in the first alone."""
    return Selection(with_spread(first, spread, share).members, first.inclusion)


def greedy(first: Selection, spread: Sequence[int], share: float) -> Selection:
    """Planted bug: as many members as are spread, but those of the best scores."""
    return with_spread(first, np.argsort(-first.inclusion)[: len(spread)].tolist(), share)


@pytest.mark.slow
@pytest.mark.parametrize(("planted", "rate"), [(forgetful, 0.1), (greedy, 0.3)])
def test_planted_bugs_are_caught(
    planted: Callable[..., Selection], rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = CELL._replace(rate=rate, correlation=0.5)
    assert holds(coverage(cell, "500 spread", SAMPLED_LEVEL, 150), 150)
    monkeypatch.setattr(rates, "with_spread", planted)
    assert not holds(coverage(cell, "500 spread", SAMPLED_LEVEL, 150), 150)


@pytest.mark.slow
def test_a_level_of_90_percent_is_caught_and_the_level_in_use_holds_in_the_same_cell() -> None:
    cell, design = Cell(1000, "block", 0.3, 0.0, 8), "500 spread"
    rows = {row["level"]: row for row in figures(cell, 1000) if row["design"] == design}
    assert not holds(cast(float, rows[0.9]["coverage"]), 1000)
    assert holds(cast(float, rows[SAMPLED_LEVEL]["coverage"]), 1000)


def test_what_is_there_is_not_simulated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REPEATS", 3)
    wanted, path = [CELL, CELL._replace(rate=0.01)], tmp_path / "out" / "cells.jsonl"
    run(wanted, path)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]) + lines[-1][:20])
    assert len(stored(path)) == len(lines) // 2
    monkeypatch.setattr(rates, "figures", None)
    run(wanted[:1], path)
    assert len({tuple(json.loads(line).values()) for line in lines}) == len(lines)
