"""Exact tests of the kernels on real scenes and real proposals, over a picture that costs microseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gandy_scott import ALPHA, RankTest, end_p_values, p_values, rank_histograms, smallest
from ground_world import STATISTICS, VOCABULARY, GroundPrior, block_moves, ground_kernel

from scenes.proposals import SceneMove
from scenes.random_walk import RandomWalk
from scenes.scene import Scene

PRIOR = GroundPrior()
MOVES = [
    pytest.param(block_moves(PRIOR), id="block"),
    pytest.param(RandomWalk(VOCABULARY), id="paper"),
]


def scenes(move: SceneMove, n: int = 2_000, length: int = 4) -> RankTest[Scene]:
    return RankTest(ground_kernel(move), STATISTICS, n, length, seed=1_881)


@pytest.mark.parametrize("move", MOVES)
def test_ranks_of_the_scene_kernels_are_uniform(move: SceneMove) -> None:
    assert smallest(p_values(rank_histograms(scenes(move)))) > ALPHA


@pytest.mark.parametrize("move", MOVES)
def test_ends_of_the_scene_kernels_are_fresh_pairs(move: SceneMove) -> None:
    assert smallest(end_p_values(scenes(move))) > ALPHA


def test_ranks_catch_a_scene_kernel_that_ignores_the_classifier() -> None:
    test = scenes(block_moves(PRIOR))
    blind = replace(test, kernel=replace(test.kernel, power=0.0))
    assert p_values(rank_histograms(blind))["log weight"] < ALPHA / len(STATISTICS)


def test_the_block_kernel_moves() -> None:
    kernel, rng = ground_kernel(), np.random.default_rng(1)
    state = kernel.init(PRIOR.sample(rng))
    accepted = 0
    for _ in range(300):
        state, info = kernel.step(rng, state)
        accepted += info.is_accepted
    assert accepted > 30
