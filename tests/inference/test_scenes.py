"""Exact tests of the kernels on real scenes and real proposals, over a picture that costs microseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.references.rank_test import RankTest, end_p_values, p_values, rank_histograms, smallest
from tests.references.statistics import ALPHA
from tests.worlds.tiny_scene_world import STATISTICS, VOCABULARY, GroundPrior, block_moves, ground_kernel
from trex.clevr_models.fake import ColorArea
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import high_confidence
from trex.render.fake import FakeRenderer
from trex.scenes.moves.block_moves import RedrawObjects, SceneMove
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

PRIOR = GroundPrior()
MOVES = [
    pytest.param(block_moves(PRIOR), id="block"),
    pytest.param(RandomWalk(VOCABULARY), id="paper"),
]


def scenes(move: SceneMove, n: int = 2_000, length: int = 4) -> RankTest[Scene]:
    return RankTest(ground_kernel(move), STATISTICS, n, length, seed=1_881)


@pytest.mark.slow
@pytest.mark.parametrize("move", MOVES)
def test_ranks_of_the_scene_kernels_are_uniform(move: SceneMove) -> None:
    assert smallest(p_values(rank_histograms(scenes(move)))) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("move", MOVES)
def test_ends_of_the_scene_kernels_are_fresh_pairs(move: SceneMove) -> None:
    assert smallest(end_p_values(scenes(move))) > ALPHA


@pytest.mark.slow
def test_ranks_catch_a_scene_kernel_that_ignores_the_classifier() -> None:
    test = scenes(block_moves(PRIOR))
    blind = replace(test, kernel=replace(test.kernel, power=0.0))
    assert p_values(rank_histograms(blind))["log weight"] < ALPHA / len(STATISTICS)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "is_right"), [(1.0, True), (0.0, False)])
def test_ranks_on_the_whole_fake_world(power: float, is_right: bool) -> None:
    """ScenePrior with its visibility rule, FakeRenderer and the fake model: few chains, as rays cost milliseconds."""
    prior = ScenePrior(CLEVR, (2, 2))
    model = ColorArea(unit=0.003, width=0.7)
    target = high_confidence(model.labels, "1", width=0.1)
    kernel = Metropolis(prior, RedrawObjects(CLEVR), Scorer(FakeRenderer(), model, batch=300), target, power)
    found = p_values(rank_histograms(RankTest(kernel, STATISTICS, 200, 3, seed=3)))
    assert (smallest(found) > ALPHA) is is_right


def test_the_block_kernel_moves() -> None:
    kernel, rng = ground_kernel(), np.random.default_rng(1)
    state = kernel.init(PRIOR.sample(rng))
    accepted = 0
    for _ in range(300):
        (draw,) = kernel.step([rng], [state])
        state = draw.state
        accepted += draw.is_accepted
    assert accepted > 30
