"""Random numbers of different purposes have nothing in common, though all follow from one seed."""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import SEARCHES, run
from trex.inference import rng
from trex.inference.chains import start, starts
from trex.inference.rng import BANK_STREAM, CHAIN_STREAM, PRIOR_STREAM, load_rng, stream
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


def test_prior_draws_and_chains_draw_other_numbers() -> None:
    """Planted bug: chain c went on with the numbers that prior draw c had been made of."""
    numbers = [*first_numbers(PRIOR_STREAM), *first_numbers(BANK_STREAM)]
    numbers += [float(load_rng(state).random()) for state in start(SEED, [STATE] * N).rng_states]
    assert len(set(numbers)) == len(numbers) == 3 * N


@pytest.mark.parametrize("purpose", [PRIOR_STREAM, BANK_STREAM])
def test_a_member_is_chosen_whatever_its_scene(purpose: int) -> None:
    """Planted bug: its permanent number was the first one that its scene had been drawn with."""
    zs = np.array(first_numbers(purpose))
    chosen = zs[design(SEED, np.zeros(N), N // 4).members]
    assert stats.kstest(chosen, "uniform").pvalue > ALPHA
    assert stats.kstest(zs[zs < 0.25], "uniform").pvalue < ALPHA


Opened = dict[tuple[int, tuple[int, ...]], set[str]]


def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """From now on, the functions that open each stream, by its seed and key."""
    found: Opened = defaultdict(set)

    def sequence(seed: int, *, spawn_key: tuple[int, ...]) -> np.random.SeedSequence:
        code = sys._getframe(2).f_code  # of the function that called `stream`
        found[seed, spawn_key].add(f"{Path(code.co_filename).name} {code.co_name}")
        return np.random.SeedSequence(seed, spawn_key=spawn_key)

    seen = SimpleNamespace(Generator=np.random.Generator, PCG64=np.random.PCG64, SeedSequence=sequence)
    monkeypatch.setattr(rng, "np", SimpleNamespace(random=seen))
    return found


@pytest.mark.parametrize("name", ["chains", "control", "surrogate", "spread", "second sample"])
def test_no_two_parts_of_a_search_open_the_same_stream(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: the starts drawn with the numbers that chain 0 goes on with; the scenes that looks are compared on,
    with those that chose the sample.
    """
    use_ladder(monkeypatch, TINY, SMALL)
    found = opened(monkeypatch)
    run(tmp_path, SEARCHES[name])
    assert len(found) > 12
    shared = {key: users for key, users in found.items() if len(users) > 1}
    assert not shared, shared


def test_where_chains_start_says_nothing_of_how_they_go_on() -> None:
    """Planted bug: the starts were those that the first numbers of chain 0 choose."""
    row = np.log([0.5, 0.5])
    draws = [Draw(State(float(k), 0.0, 0.0, row), index=k) for k in range(50)]
    states = starts(3, draws, 4)
    for chain in range(len(start(3, states).rng_states)):
        numbers = stream(3, CHAIN_STREAM, chain).gumbel(size=len(draws))
        assert [state.z for state in states] != [float(k) for k in np.argsort(-numbers)[:4]]
