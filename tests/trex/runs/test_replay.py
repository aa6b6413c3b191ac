"""What the records of a run say of its chains: states, warmup, and the renders that a control counts."""

from __future__ import annotations

import math

import numpy as np

from trex.inference.targets import threshold
from trex.inference.types import State
from trex.runs.record import CHAIN, CONTROL, Record
from trex.runs.replay import chain_draws, state_hits
from trex.worlds.latents import Latent

TARGET = threshold(("a", "b"), "a", 0.5, width=0.05)


def row(phase: str, index: int, confidence: float | None, is_accepted: bool, **figures: float) -> Record:
    """A step to the latent (index,); without a confidence the prior excludes it, and nothing was rendered."""
    log_probs = () if confidence is None else (math.log(confidence), math.log1p(-confidence))
    z = (float(index),)
    return Record(phase, 0, index, z, is_accepted, 0.0, 0.0, 0.0, log_probs, (), figures=figures)


def rows(phase: str) -> list[Record]:
    return [
        row(phase, 0, 0.1, True),
        row(phase, 1, 0.9, False),
        row(phase, 2, None, False),
        row(phase, 3, 0.8, True),
        row(phase, 4, 0.8, True, resampled=1),
        row(phase, 5, 0.2, True),
    ]


def test_a_control_counts_the_state_after_every_render_and_nothing_else() -> None:
    """Planted bugs: a rejected proposal was no render, or its hit counted, so that a chain seemed to hit sooner."""
    found = state_hits(rows(CONTROL), CONTROL, TARGET, 2)
    assert found == [[False, False, True, False], []]
    assert state_hits(rows(CONTROL), CONTROL, TARGET, 1, end=3) == [[False, False]]
    assert state_hits(rows(CHAIN), CONTROL, TARGET, 1) == [[]]


def test_a_state_that_hits_counts_until_the_chain_leaves_it() -> None:
    steps = [row(CONTROL, 0, 0.8, True), row(CONTROL, 1, 0.1, False), row(CONTROL, 2, 0.1, True)]
    assert state_hits(steps, CONTROL, TARGET, 1) == [[True, True, False]]


def test_a_rejected_step_repeats_the_state_and_the_first_steps_are_warmup() -> None:
    first = State[Latent](np.array([9.0]), 0.0, 0.0, np.log([0.5, 0.5]))
    found = chain_draws([row(CHAIN, 6, 0.7, False, is_warmup=1), *rows(CHAIN)], CHAIN, [first], 2)
    assert [float(draw.z[0]) for draw in found] == [0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 5.0]  # type: ignore[index]
    assert [draw.is_warmup for draw in found] == [True, True, False, False, False, False, True]
    assert found[1].state is found[2].state is found[0].state
    alone = chain_draws([row(CHAIN, 0, 0.9, False)], CHAIN, [first], 0)
    assert (alone[0].z is first.z, alone[0].is_warmup) == (True, False)
