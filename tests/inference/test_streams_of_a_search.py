"""Every stream of random numbers of a search has one purpose, whatever it does."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import SEARCHES, run
from trex.inference import rng
from trex.inference.chains import start, starts
from trex.inference.rng import CHAIN_STREAM, stream
from trex.inference.types import Draw, State

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


@pytest.mark.parametrize("name", ["chains", "control", "surrogate", "second sample"])
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
