"""Where the chains of a search and of its control start, and that their random numbers are their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from tests.references.draws import scored
from tests.references.statistics import ALPHA
from trex.inference.chains import start
from trex.inference.rng import load_rng
from trex.inference.statistics.control import Control
from trex.inference.statistics.how_often import how_often
from trex.inference.statistics.proportion import Interval
from trex.inference.statistics.two_phase import Estimate, Selection
from trex.inference.targets import threshold
from trex.inference.types import Draw, State
from trex.query.schema import SearchSection
from trex.search.sampling.decisions import chain_starts, control_starts
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.5, width=0.05)


def sample(places: Sequence[float], inclusion: Sequence[float]) -> PriorSample:
    """Hits of equal weight at these places, chosen with these probabilities."""
    draws = tuple(Draw(scored(TARGET, [0.9, 0.1], np.array([x])), index=k) for k, x in enumerate(places))
    chosen = Selection(np.arange(len(places)), np.array(inclusion))
    return PriorSample(draws, chosen, how_often(draws, chosen, TARGET))


def options(**fields: object) -> SearchSection:
    return SearchSection.model_validate({"prior_scenes": 40, "bank": 400, **fields})


def are_distinct(item: Latent, other: Latent) -> bool:
    return abs(float(item[0] - other[0])) > 0.5


def places(states: Sequence[State[Latent]]) -> list[float]:
    return [float(state.z[0]) for state in states]


def test_particles_start_as_the_prior_has_the_scenes_of_a_bank() -> None:
    """Planted bug: the scenes that the cheap look likes, each chosen for sure, started nearly all."""
    of = sample([0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 0.1, 0.1])
    found = places(chain_starts(of, options(kernel="smc", chains=220), are_distinct))
    counts = np.bincount(np.array(found, int), minlength=4)
    assert np.abs(counts - np.array([10, 10, 100, 100])).max() <= 1
    assert places(chain_starts(of, options(kernel="smc", chains=3, bank=0), are_distinct)) == [0.0, 1.0, 2.0]


def test_a_chain_starts_at_a_scene_as_often_as_it_stands_for_others() -> None:
    """Planted: as if each had been chosen for sure."""
    inclusion = np.array([1.0, 0.5, 0.25, 0.25])
    of = sample([0.0, 1.0, 2.0, 3.0], inclusion.tolist())
    starts = [chain_starts(of, options(chains=1, seed=seed), are_distinct) for seed in range(500)]
    counts = np.bincount([int(places(states)[0]) for states in starts], minlength=4)
    for weights, is_right in ((1.0 / inclusion, True), (np.ones(4), False)):
        p_value = stats.chisquare(counts, 500 * weights / weights.sum()).pvalue
        assert bool(p_value > ALPHA) is is_right


def test_chains_from_a_bank_start_at_scenes_that_are_distinct() -> None:
    """Planted bug: clusters of scenes that are unlike each other."""
    of = sample([0.0, 0.1, 0.2, 5.0], [1.0] * 4)
    for seed in range(12):
        assert max(places(chain_starts(of, options(chains=2, seed=seed), are_distinct))) == 5.0


def test_the_chains_of_each_rung_draw_other_numbers_than_those_of_the_search() -> None:
    """Planted bug: the first level had the query's own seed."""
    draws = sample([0.0, 1.0, 2.0, 3.0], [1.0] * 4).draws
    easier = Control(TARGET, Estimate(0.01, 0.3, Interval(0.001, 0.03)), (3.0, 98.0), draws, np.ones(4), 4)
    levels = [control_starts(rank, easier, options(seed=7, chains=4)) for rank in (0, 1)]
    begun = [start(seed, states) for seed, states in ((7, levels[0][1]), *levels)]
    assert len({load_rng(rng).random() for checkpoint in begun for rng in checkpoint.rng_states}) == 12


NEAR = threshold(("a", "b"), "a", 0.1, width=0.05)
N, CHAINS = 60, 4


def draw(place: int, confidence: float) -> Draw[Latent]:
    return Draw(scored(NEAR, [confidence, 1.0 - confidence], np.array([float(place)])), index=place)


def near_sample(near: Sequence[int], inclusion: float = 1.0) -> PriorSample:
    """Draws of which those at these places are nearly hits and all others far from it."""
    draws = tuple(draw(place, 0.85 if place in near else 0.05) for place in range(N))
    chosen = Selection(np.arange(N), np.full(N, inclusion))
    return PriorSample(draws, chosen, how_often(draws, chosen, NEAR))


def differ(item: Latent, other: Latent) -> bool:
    return not np.array_equal(item, other)


def near_options(bank: int, seed: int, prior_scenes: int = N) -> SearchSection:
    return SearchSection.model_validate(
        {"prior_scenes": prior_scenes, "bank": bank, "chains": CHAINS, "seed": seed}
    )


@pytest.mark.parametrize("bank", [0, 200])
def test_chains_start_at_the_draws_that_are_near(bank: int) -> None:
    """Planted bug: starts without weights, of which 4 in 60 would lie near."""
    near = (7, 21, 33, 34, 48, 52, 55, 59)
    of = near_sample(near, 0.3 if bank else 1.0)
    for seed in range(20):
        starts = chain_starts(of, near_options(bank, seed), differ)
        places = [int(state.z[0]) for state in starts]
        assert len(set(places)) == CHAINS and set(places) <= set(near)
        assert all(state is of.draws[place].state for state, place in zip(starts, places, strict=True))


@pytest.mark.parametrize("bank", [0, 200])
def test_each_seed_starts_elsewhere_though_all_start_near(bank: int) -> None:
    """Planted bug: the heaviest draws start in every repeat, so that repeats of a search share their fate."""
    of = near_sample(range(0, N, 4), 0.3 if bank else 1.0)
    found = {
        tuple(float(state.z[0]) for state in chain_starts(of, near_options(bank, seed), differ))
        for seed in range(12)
    }
    assert len(found) > 6


def test_the_further_draws_of_a_common_target_start_no_chain() -> None:
    """Where a search starts does not depend on whether it went on to draw more."""
    first, more = near_sample((1, 2, 3, 4, 5, 6, 7, 8)), near_sample((1, 2, 3, 4, 5, 6, 7, 8, *range(30, N)))
    for seed in range(10):
        states = chain_starts(first, near_options(0, seed, prior_scenes=20), differ)
        other = chain_starts(more, near_options(0, seed, prior_scenes=20), differ)
        assert [float(s.z[0]) for s in states] == [float(s.z[0]) for s in other]
