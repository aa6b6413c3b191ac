"""Chains: one by one or all at once, unbroken or resumed, the draws are the same bit for bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import cast

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.simulations.toy import Pixel, PixelClassifier, PixelRenderer, SquarePrior
from trex.foundation.errors import InputError, RunError
from trex.inference.chains import Checkpoint, rounds, start, starts, tempering_power
from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.metropolis import Metropolis
from trex.inference.rng import RngState, load_rng, save_rng, stream
from trex.inference.scoring import Scorer
from trex.inference.statistics.importance import effective_size, prior_draws
from trex.inference.targets import high_confidence
from trex.inference.types import Draw, Floats, State

LABELS = PixelClassifier().labels
TARGET = high_confidence(LABELS, "red", width=0.2)
SEED = 77


@dataclass(frozen=True)
class Counting:
    """Notes the size of every batch."""

    batches: list[int] = field(default_factory=list)

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        self.batches.append(len(zs))
        return PixelRenderer().render(zs)


def toy_kernel(renderer: Counting | None = None) -> Metropolis[Floats]:
    scorer = Scorer(renderer or Counting(), PixelClassifier())
    return Metropolis(SquarePrior(), GaussianWalk(0.3), scorer, TARGET)


def toy_draws(n: int = 60) -> list[Draw[Floats]]:
    return prior_draws(SEED, range(n), SquarePrior(), Scorer(PixelRenderer(), PixelClassifier()), TARGET)


def begin(n_chains: int = 4) -> Checkpoint[Floats]:
    return start(SEED, starts(SEED, toy_draws(), n_chains))


def bits(draws: Sequence[Draw[Floats]]) -> list[tuple[object, ...]]:
    return [
        (
            d.chain,
            d.index,
            d.z.tobytes(),
            d.state.log_probs.tobytes(),
            d.state.log_weight,
            d.is_accepted,
        )
        for d in draws
    ]


def flat(found: Sequence[Checkpoint[Floats]]) -> list[Draw[Floats]]:
    return [draw for checkpoint in found for draw in checkpoint.draws]


def through_json(
    checkpoint: Checkpoint[Floats], rng_states: Sequence[RngState] | None = None
) -> Checkpoint[Floats]:
    """What a run folder keeps: numbers as text, no pictures."""
    rows = [(s.z.tolist(), s.log_prior, s.log_weight, s.log_probs.tolist()) for s in checkpoint.states]
    rows, rngs = json.loads(json.dumps([rows, rng_states or list(checkpoint.rng_states)]))
    states = tuple(State(np.array(z), p, w, np.array(logs)) for z, p, w, logs in rows)
    return Checkpoint(states, tuple(rngs), checkpoint.next_index)


def test_all_at_once_is_one_by_one_with_one_batch_a_round() -> None:
    renderer = Counting()
    found = list(rounds(toy_kernel(renderer), begin(), 25))
    single, states = toy_kernel(), list(begin().states)
    rngs = [load_rng(state) for state in begin().rng_states]
    for checkpoint in found:
        steps = [single.step([rng], [state])[0] for rng, state in zip(rngs, states, strict=True)]
        states = [draw.state for draw in steps]
        assert [s.z.tobytes() for s in states] == [d.z.tobytes() for d in checkpoint.draws]
        assert [draw.is_accepted for draw in steps] == [d.is_accepted for d in checkpoint.draws]
    assert len(renderer.batches) <= 25 and max(renderer.batches) > 1
    rendered = sum(draw.was_rendered for item in found for draw in item.draws)
    assert sum(renderer.batches) == rendered < 4 * 25  # invalid points cost nothing


def test_one_draw_a_step_and_a_rejection_repeats() -> None:
    """D9."""
    draws = flat(list(rounds(toy_kernel(), begin(1), 60, n_warmup=10)))
    assert [d.index for d in draws] == list(range(60))
    assert [d.is_warmup for d in draws] == [True] * 10 + [False] * 50
    rejected = [(a, b) for a, b in pairwise(draws) if not b.is_accepted]
    assert rejected and all(np.array_equal(a.z, b.z) and a.state is b.state for a, b in rejected)


@pytest.mark.parametrize("stop", [1, 7, 19])
def test_a_stopped_run_resumes_to_the_same_draws(stop: int) -> None:
    unbroken = bits(flat(list(rounds(toy_kernel(), begin(), 20, n_warmup=3))))
    before = list(rounds(toy_kernel(), begin(), stop, n_warmup=3))
    after = list(rounds(toy_kernel(), through_json(before[-1]), 20, n_warmup=3))
    assert bits(flat(before)) + bits(flat(after)) == unbroken
    fresh = [save_rng(stream(SEED, 1, c)) for c in range(4)]  # planted: the random state is not kept
    wrong = list(rounds(toy_kernel(), through_json(before[-1], fresh), 20, n_warmup=3))
    assert stop == 19 or bits(flat(before)) + bits(flat(wrong)) != unbroken


def test_more_chains_leave_the_first_ones_alone() -> None:
    states = starts(SEED, toy_draws(), 5)
    few = flat(list(rounds(toy_kernel(), start(SEED, states[:2]), 10)))
    many = flat(list(rounds(toy_kernel(), start(SEED, states), 10)))
    assert bits(few) == bits([d for d in many if d.chain < 2])


def test_chains_from_one_state_part_at_once() -> None:
    state = begin(1).states[0]
    apart = flat(list(rounds(toy_kernel(), start(SEED, (state, state)), 30)))
    item, two = ([d.z.tolist() for d in apart if d.chain == c] for c in (0, 1))
    assert item != two
    shared = Checkpoint(
        (state, state), (start(SEED, (state,)).rng_states[0],) * 2
    )  # planted: one stream for all
    same = flat(list(rounds(toy_kernel(), shared, 30)))
    assert [d.z.tolist() for d in same if d.chain == 0] == [d.z.tolist() for d in same if d.chain == 1]


def test_random_states_survive_json_and_reject_nonsense() -> None:
    rng = stream(3, 1, 4)
    rng.random(7)
    saved = dict(save_rng(rng))
    inner = cast(dict[str, object], saved["state"])
    copy = load_rng(json.loads(json.dumps(save_rng(rng))))
    assert copy.random(5).tolist() == rng.random(5).tolist()
    assert stream(3, 1, 4).random() != stream(3, 1, 5).random()
    for wrong in (
        {},
        {"bit_generator": "MT19937", "state": {}},
        {"bit_generator": "PCG64", "state": {"state": "x"}},
        {**saved, "has_uint32": 2**70},
        {**saved, "uinteger": 2**70},
        {**saved, "state": {**inner, "state": -1}},
        {**saved, "state": {**inner, "inc": 1.5}},
        {**saved, "state": {**inner, "state": 1 << 128}},
    ):
        with pytest.raises(RunError, match="PCG64"):
            load_rng(wrong)
    with pytest.raises(RunError, match="do not make a checkpoint"):
        Checkpoint(begin().states, begin().rng_states[:2])


def test_starts_are_distinct_near_the_target_and_dispersed() -> None:
    draws = toy_draws(200)
    for width in (0.2, 0.05, 1e-3, 1e-6):
        narrow = replace(TARGET, width=(width,))
        weighed = [
            replace(d, state=replace(d.state, log_weight=narrow.log_weight(d.state.log_probs))) for d in draws
        ]
        picked = starts(SEED, weighed, 8)
        assert len({state.z.tobytes() for state in picked}) == 8
        ours = np.mean([TARGET.confidence(state.log_probs) for state in picked])
        everyone = np.mean([TARGET.confidence(draw.state.log_probs) for draw in draws])
        assert ours > everyone + 0.1
    with pytest.raises(InputError, match="8 chains need at least as many"):
        starts(SEED, draws[:7], 8)


@pytest.mark.parametrize("scale", [0.1, 10.0, 1e4, 1e10])
def test_tempering_reaches_the_effective_size(scale: float) -> None:
    log_weights = scale * np.random.default_rng(2).standard_normal(100)
    power = tempering_power(log_weights, 16.0)
    assert power == 1.0 or 16.0 <= effective_size(power * log_weights) < 20.0
    assert effective_size(power * log_weights) >= 16.0


def test_small_widths_do_not_stop_a_chain() -> None:
    """D10: in linear space both densities underflow to 0 and their ratio is 0/0."""
    narrow = replace(toy_kernel(), target=high_confidence(LABELS, "red", width=1e-6))
    state = narrow.init(np.array([0.05, 0.95]))
    assert np.exp(state.log_weight) == 0.0  # what a linear ratio would divide by
    rng = np.random.default_rng(4)
    best = state
    for _ in range(300):
        (draw,) = narrow.step([rng], [best])
        best = draw.state
        assert not np.isnan(draw.log_accept_ratio)
    assert best.log_probs[0] > state.log_probs[0] + 1.0


def test_starts_are_drawn_by_tempered_weights() -> None:
    """Planted: by the plain ones, nearly every chain starts at the one heaviest draw."""
    log_weights = np.array([0.0, -4.0, -8.0, -12.0, -16.0])
    weighed = [
        replace(draw, state=replace(draw.state, z=np.array([float(i)]), log_weight=float(w)))
        for i, (draw, w) in enumerate(zip(toy_draws(5), log_weights, strict=True))
    ]
    picked = [int(starts(seed, weighed, 1)[0].z[0]) for seed in range(400)]
    counts = np.bincount(picked, minlength=5)
    for power, is_right in ((tempering_power(log_weights, 2.0), True), (1.0, False)):
        due = np.exp(power * log_weights)
        p_value = stats.chisquare(counts, 400 * due / due.sum()).pvalue
        assert bool(p_value > ALPHA) is is_right
