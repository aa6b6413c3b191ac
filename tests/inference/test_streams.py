"""Random numbers of different purposes have nothing in common, though all follow from one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from trex.inference.chains import start
from trex.inference.rng import BANK_STREAM, PRIOR_STREAM, load_rng
from trex.inference.smc import particles
from trex.inference.statistics.importance import prior_draw
from trex.inference.statistics.two_phase import design
from trex.inference.types import Draw, State

SEED, N = 5, 400
STATE = State(0.0, 0.0, 0.0, np.log([0.5, 0.5]))


@dataclass(frozen=True)
class FirstNumber:
    """A prior whose draw is the first number of its random stream."""

    def sample(self, rng: np.random.Generator) -> float:
        return float(rng.random())

    def log_density(self, z: float) -> float:
        return 0.0


def first_numbers(purpose: int) -> list[float]:
    return [prior_draw(SEED, index, FirstNumber(), purpose)[0] for index in range(N)]


def test_prior_draws_chains_and_particles_draw_other_numbers() -> None:
    """Planted bug: chain c went on with the numbers that prior draw c had been made of."""
    draws = [Draw(STATE, index=index) for index in range(N)]
    rng_states = (*start(SEED, [STATE] * N).rng_states, *particles(SEED, draws).rng_states)
    numbers = [*first_numbers(PRIOR_STREAM), *first_numbers(BANK_STREAM)]
    numbers += [float(load_rng(one).random()) for one in rng_states]
    assert len(set(numbers)) == len(numbers) == 4 * N + 1


@pytest.mark.parametrize("purpose", [PRIOR_STREAM, BANK_STREAM])
def test_a_member_is_chosen_whatever_its_scene(purpose: int) -> None:
    """Planted bug: its permanent number was the first one that its scene had been drawn with."""
    zs = np.array(first_numbers(purpose))
    chosen = zs[design(SEED, np.zeros(N), N // 4).members]
    assert stats.kstest(chosen, "uniform").pvalue > ALPHA
    assert stats.kstest(zs[zs < 0.25], "uniform").pvalue < ALPHA
