"""NUTS: each chain by itself, resumed after any draw, nothing left behind, and clear errors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pyro
import pytest
import torch

from tests.worlds.nuts_worlds import LinearWorld, after_warmup, sample
from trex.foundation.errors import InputError, ModelError, RunError
from trex.inference.chains import Checkpoint, start
from trex.inference.nuts.density import Evaluated, Point
from trex.inference.nuts.options import GRADIENTS
from trex.inference.nuts.sampler import Density, NutsOptions, nuts_rounds
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, State, unscored

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


def bits(rounds: Sequence[Checkpoint[Floats]], chains: int) -> list[tuple[object, ...]]:
    """Every bit of the first chains' draws."""
    return [
        (d.chain, d.index, d.z.tobytes(), d.state.log_probs.tobytes(), d.state.log_weight, d.figures)
        for r in rounds
        for d in r.draws[:chains]
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
    item, two = after_warmup(rounds)
    assert not np.any(item == two)
    assert bits(rounds, 2) == bits(sample(density, same_start, OPTIONS, N), 2)
    assert not np.any(after_warmup(sample(density, same_start, OPTIONS, N, seed=6))[0] == item)


@pytest.mark.parametrize("stop", [1, 9, 10, 29, 30, 31, 41], ids="stopped-after-{}".format)
def test_a_run_that_was_stopped_goes_on_to_the_same_draws(stop: int) -> None:
    density = network()
    whole = sample(density, states(3), OPTIONS, N)
    first = list(islice(nuts_rounds(density, OPTIONS, start(5, states(3)), OPTIONS.warmup + N), stop))
    kept = first[-1]
    kept = replace(kept, rng_states=tuple(json.loads(json.dumps(kept.rng_states))))
    checkpoints = list(nuts_rounds(density, OPTIONS, kept, OPTIONS.warmup + N))
    assert len(first) + len(checkpoints) == len(whole)
    assert bits(first + checkpoints, 3) == bits(whole, 3)


def test_resuming_after_warmup_runs_no_warmup_again() -> None:
    numbers = []
    density = network()
    counting = replace(density, log_probs=lambda z: (numbers.append(1), density.log_probs(z))[1])
    rounds = sample(counting, states(1), OPTIONS, N)
    numbers.clear()
    list(nuts_rounds(counting, OPTIONS, rounds[-2], OPTIONS.warmup + N))
    assert len(numbers) == rounds[-1].draws[0].figures[GRADIENTS] + 1  # the one weighs the point again


def test_torch_and_pyro_are_left_as_they_were() -> None:
    torch.manual_seed(11)
    expected = torch.rand(40)
    torch.manual_seed(11)
    found = []
    pyro.enable_validation(True)
    with torch.no_grad():
        for _ in nuts_rounds(network_after_seed(), OPTIONS, start(5, states(2)), 40):
            found.append(torch.rand(1))
            assert pyro.infer.util.is_validation_enabled() and not torch.is_grad_enabled()
    assert torch.equal(torch.cat(found), expected)


def network_after_seed() -> Density:
    with torch.random.fork_rng():
        return network()


def test_a_run_that_is_given_up_ends_its_threads() -> None:
    import threading

    before = threading.active_count()
    rounds = nuts_rounds(network(), OPTIONS, start(5, states(3)), 40)
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
    "damage",
    [{"rng": {}}, {"z": ["a"]}, {"z": [[1.0]]}, {"tuning": [0.1]}, {"tuning": [-0.1, 1.0, 1.0]}],
    ids=["no-rng", "no-number", "no-vector", "short-tuning", "negative-step"],
)
def test_what_is_no_checkpoint_is_refused(damage: dict[str, object]) -> None:
    kept = sample(network(), states(1), OPTIONS, 1)[-1]
    assert kept.rng_states[0]["tuning"] is not None
    damaged = replace(kept, rng_states=({**kept.rng_states[0], **damage},))
    with pytest.raises(RunError, match="start a new run"):
        next(nuts_rounds(network(), OPTIONS, damaged, OPTIONS.warmup + N))


def test_latents_of_different_length_start_no_chains() -> None:
    states = [unscored(np.zeros(2)), unscored(np.zeros(3))]
    with pytest.raises(RunError, match="one shape"):
        next(nuts_rounds(network(), OPTIONS, start(1, states), 1))


EDGED = LinearWorld(slope=2.0, edge=0.5)
AT_EDGE = high_confidence(EDGED.labels, "x", width=0.2)
CHAINS, STEP = 6, 1e-5


def by_hand(z: Floats) -> float:
    """log prior + log weight in numpy, by their formulas."""
    logits = np.array([*(EDGED.slope * (z[:2] - EDGED.edge)), 0.0])
    log_probs = logits - math.log(np.exp(logits).sum())
    return float(-0.5 * (z @ z) - 0.5 * z.size * math.log(2 * math.pi)) + AT_EDGE.log_weight(log_probs)


def slope_by_hand(z: Floats) -> Floats:
    steps = STEP * np.eye(z.size)
    return np.array([(by_hand(z + step) - by_hand(z - step)) / (2 * STEP) for step in steps])


def worst(density: Density) -> float:
    """The largest error of a value or a gradient, of all rows."""
    rng = np.random.default_rng(20_265)
    zs = {chain: rng.standard_normal(2) for chain in range(CHAINS)}
    found = density.evaluate({chain: Point(z) for chain, z in zs.items()})
    values = [abs(found[c].log_density - by_hand(z)) for c, z in zs.items()]
    slopes = [float(np.abs(found[c].gradient - slope_by_hand(z)).max()) for c, z in zs.items()]
    return max(values + slopes)


@pytest.mark.parametrize("lane", [1, 3, 4, 8])
def test_each_row_is_the_density_at_its_point(lane: int) -> None:
    assert worst(EDGED.density(AT_EDGE, lane)) < 1e-6


class OneRowScaled(Density):
    """Planted: one row of a lane is nine tenths of itself."""

    def _evaluate_lane(self, rows: Mapping[int, Point]) -> dict[int, Evaluated]:
        found = super()._evaluate_lane(rows)
        return {
            row: evaluated._replace(
                log_density=0.9 * evaluated.log_density, gradient=0.9 * evaluated.gradient
            )
            if row == 2
            else evaluated
            for row, evaluated in found.items()
        }


def test_a_row_that_is_scaled_is_noticed() -> None:
    assert worst(OneRowScaled(EDGED.log_probs, AT_EDGE)) > 0.01
