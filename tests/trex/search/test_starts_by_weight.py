"""Chains start near the level set: prior draws by their weights, whether they are plain or chosen from a bank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.references.draws import scored
from trex.inference.statistics.how_often import how_often
from trex.inference.statistics.two_phase import Selection
from trex.inference.targets import threshold
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.search.sampling.decisions import chain_starts
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.1, width=0.05)
N, CHAINS = 60, 4


def draw(place: int, confidence: float) -> Draw[Latent]:
    return Draw(scored(TARGET, [confidence, 1.0 - confidence], np.array([float(place)])), index=place)


def sample(near: Sequence[int], inclusion: float = 1.0) -> PriorSample:
    """Draws of which those at these places are nearly hits and all others far from it."""
    draws = tuple(draw(place, 0.85 if place in near else 0.05) for place in range(N))
    chosen = Selection(np.arange(N), np.full(N, inclusion))
    return PriorSample(draws, chosen, how_often(draws, chosen, TARGET))


def are_distinct(one: Latent, other: Latent) -> bool:
    return not np.array_equal(one, other)


def options(bank: int, seed: int, prior_scenes: int = N) -> SearchSection:
    return SearchSection.model_validate(
        {"prior_scenes": prior_scenes, "bank": bank, "chains": CHAINS, "seed": seed}
    )


@pytest.mark.parametrize("bank", [0, 200])
def test_chains_start_at_the_draws_that_are_near(bank: int) -> None:
    """Planted bug: starts without weights, of which 4 in 60 would lie near."""
    near = (7, 21, 33, 34, 48, 52, 55, 59)
    of = sample(near, 0.3 if bank else 1.0)
    for seed in range(20):
        starts = chain_starts(of, options(bank, seed), are_distinct)
        places = [int(state.z[0]) for state in starts]
        assert len(set(places)) == CHAINS and set(places) <= set(near)
        assert all(state is of.draws[place].state for state, place in zip(starts, places, strict=True))


@pytest.mark.parametrize("bank", [0, 200])
def test_each_seed_starts_elsewhere_though_all_start_near(bank: int) -> None:
    """Planted bug: the heaviest draws start in every repeat, so that repeats of a search share their fate."""
    of = sample(range(0, N, 4), 0.3 if bank else 1.0)
    found = {
        tuple(float(state.z[0]) for state in chain_starts(of, options(bank, seed), are_distinct))
        for seed in range(12)
    }
    assert len(found) > 6


def test_the_further_draws_of_a_common_target_start_no_chain() -> None:
    """Where a search starts does not depend on whether it went on to draw more."""
    first, more = sample((1, 2, 3, 4, 5, 6, 7, 8)), sample((1, 2, 3, 4, 5, 6, 7, 8, *range(30, N)))
    for seed in range(10):
        one = chain_starts(first, options(0, seed, prior_scenes=20), are_distinct)
        other = chain_starts(more, options(0, seed, prior_scenes=20), are_distinct)
        assert [float(s.z[0]) for s in one] == [float(s.z[0]) for s in other]
