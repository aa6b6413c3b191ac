"""NUTS: each chain by itself, resumed after any draw, nothing left behind, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pyro
import pytest
import torch

from tests.worlds.nuts_worlds import LinearWorld, after_warmup, sample
from trex.foundation.errors import InputError, ModelError, RunError
from trex.inference.nuts.sampler import (
    Density,
    NutsOptions,
    NutsRound,
    nuts_rounds,
    plain_checkpoint,
    read_checkpoint,
    start_nuts,
)
from trex.inference.targets import high_confidence
from trex.inference.types import State

WORLD = LinearWorld()
TARGET = high_confidence(WORLD.labels, "x", width=0.2)
OPTIONS = NutsOptions(warmup=30, path=10)
N = 12


def network() -> Density:
    """A small network in single precision, whose matrix products depend on the batch."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(2, 300), torch.nn.Tanh(), torch.nn.Linear(300, 3))
    layers.requires_grad_(False)
    return Density(lambda z: (6.0 * layers(z.float())).double().log_softmax(1), TARGET)


def states(n: int) -> tuple[State, ...]:
    return WORLD.states(3, n, TARGET)


def bits(rounds: Sequence[NutsRound], chains: int) -> list[tuple[object, ...]]:
    """Every bit of the first chains' draws."""
    return [
        (d.chain, d.index, d.z.tobytes(), d.evaluation.log_probs.tobytes(), d.evaluation.log_weight, tree)
        for r in rounds
        for d, tree in list(zip(r.draws, r.trees, strict=True))[:chains]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("chains", [1, 3, 4, 6])
def test_a_chain_draws_the_same_whatever_runs_beside_it(chains: int) -> None:
    density = network()
    beside = bits(sample(density, states(6), OPTIONS, N), chains)
    assert bits(sample(density, states(6)[:chains], OPTIONS, N), chains) == beside


def test_the_chains_are_independent_and_the_seed_decides() -> None:
    density = network()
    same_start = (states(1)[0],) * 2
    rounds = sample(density, same_start, OPTIONS, N)
    one, two = after_warmup(rounds)
    assert not np.any(one == two)
    assert bits(rounds, 2) == bits(sample(density, same_start, OPTIONS, N), 2)
    assert not np.any(after_warmup(sample(density, same_start, OPTIONS, N, seed=6))[0] == one)


@pytest.mark.parametrize("stop", [1, 9, 10, 29, 30, 31, 41], ids="stopped-after-{}".format)
def test_a_run_that_was_stopped_goes_on_to_the_same_draws(stop: int) -> None:
    density = network()
    whole = sample(density, states(3), OPTIONS, N)
    first = list(islice(nuts_rounds(density, OPTIONS, start_nuts(5, states(3)), OPTIONS.warmup + N), stop))
    kept = read_checkpoint(json.loads(json.dumps(plain_checkpoint(first[-1].checkpoint))))
    rest = list(nuts_rounds(density, OPTIONS, kept, OPTIONS.warmup + N))
    assert len(first) + len(rest) == len(whole)
    assert bits(first + rest, 3) == bits(whole, 3)


def test_resuming_after_warmup_runs_no_warmup_again() -> None:
    asked = []
    density = network()
    counting = replace(density, log_probs=lambda z: (asked.append(1), density.log_probs(z))[1])
    rounds = sample(counting, states(1), OPTIONS, N)
    asked.clear()
    list(nuts_rounds(counting, OPTIONS, rounds[-2].checkpoint, OPTIONS.warmup + N))
    assert len(asked) == rounds[-1].renders + 1  # the one weighs the point again


def test_torch_and_pyro_are_left_as_they_were() -> None:
    torch.manual_seed(11)
    expected = torch.rand(40)
    torch.manual_seed(11)
    found = []
    pyro.enable_validation(True)
    with torch.no_grad():
        for _ in nuts_rounds(network_after_seed(), OPTIONS, start_nuts(5, states(2)), 40):
            found.append(torch.rand(1))
            assert pyro.infer.util.is_validation_enabled() and not torch.is_grad_enabled()
    assert torch.equal(torch.cat(found), expected)


def network_after_seed() -> Density:
    with torch.random.fork_rng():
        return network()


def test_a_run_that_is_given_up_ends_its_threads() -> None:
    import threading

    before = threading.active_count()
    rounds = nuts_rounds(network(), OPTIONS, start_nuts(5, states(3)), 40)
    next(rounds)
    assert threading.active_count() == before + 3
    rounds.close()
    assert threading.active_count() == before


def test_an_error_of_the_model_is_not_swallowed() -> None:
    def broken(z: torch.Tensor) -> torch.Tensor:
        raise ModelError("no weights")

    with pytest.raises(ModelError, match="no weights"):
        sample(replace(network(), log_probs=broken), states(2), OPTIONS, N)
    constant = replace(network(), log_probs=lambda z: torch.zeros(z.shape[0], 3))
    with pytest.raises(ModelError, match="without gradient"):
        sample(constant, states(1), OPTIONS, N)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NutsOptions(warmup=30, path=20), "leave at least 20"),
        (lambda: NutsOptions(path=-1), "path of -1"),
        (lambda: NutsOptions(accept=1.0), "accept"),
        (lambda: NutsOptions(max_depth=0), "max_depth"),
        (lambda: Density(WORLD.log_probs, TARGET, lane=0), "lane"),
    ],
    ids=["no-adaptation", "negative-path", "accept", "depth", "lane"],
)
def test_options_that_cannot_be_are_refused(make, words) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    "change",
    [
        {"next_index": None},
        {"chains": []},
        {"chains": [{"z": [1.0], "rng": {}, "tuning": None}]},
        {"chains": [{"z": ["a"], "rng": {}, "tuning": None}]},
    ],
    ids=["no-index", "no-chains", "no-rng", "no-number"],
)
def test_what_is_no_checkpoint_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(RunError):
        read_checkpoint(plain_checkpoint(start_nuts(1, states(1))) | change)


def test_a_tuning_of_another_size_is_refused() -> None:
    plain = plain_checkpoint(sample(network(), states(1), OPTIONS, 1)[-1].checkpoint)
    assert read_checkpoint(plain).points[0].tuning is not None
    plain["chains"][0]["tuning"].append(1.0)  # type: ignore[index]
    with pytest.raises(RunError, match="tuning"):
        read_checkpoint(plain)
