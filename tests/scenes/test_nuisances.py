"""Camera and light offsets, noise seeds and noise draws: over their whole ranges, and independent of the scene."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.references.statistics import ALPHA
from tests.running.runs import QUERY
from trex.inference.types import Floats
from trex.query.toml_file import parse_query
from trex.scenes.moves.block_moves import Mixture, RedrawNoise, RedrawNuisances, block_moves
from trex.scenes.noise import fresh_draws, noise_draws
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.worlds.registry import make_plan

PUBLISHED = {"camera": 0.5, "key": 1.0, "fill": 1.0, "back": 1.0}  # clevr-dataset-gen's jitters
SEEDS = 2**31  # of Blender: a whole number of 31 bits
PRIOR = ScenePrior(n_objects=(1, 2))
N = 2000
START = PRIOR.sample(np.random.default_rng(2017))


@cache
def drawn() -> dict[str, list[Scene]]:
    rng = np.random.default_rng(2017)
    start = PRIOR.sample(rng)
    return {
        "prior": [PRIOR.sample(rng) for _ in range(1500)],
        "moves": [RedrawNoise().propose(rng, RedrawNuisances().propose(rng, start)) for _ in range(N)],
    }


both_sources = pytest.mark.parametrize("source", ["prior", "moves"])


def offsets(scenes: list[Scene], share: float = 1.0) -> dict[str, Floats]:
    """Every coordinate of every offset, as a share of the published range."""
    every = {name: np.array([getattr(scene.nuisances, name) for scene in scenes]) for name in PUBLISHED}
    return {
        f"{name} {axis}": share * rows[:, axis] / PUBLISHED[name]
        for name, rows in every.items()
        for axis in range(3)
    }


def range_p_value(found: dict[str, Floats]) -> float:
    """The smallest p-value of uniformity on [-1, 1), times the number of coordinates."""
    flat = [float(stats.kstest(values, stats.uniform(-1, 2).cdf).pvalue) for values in found.values()]
    return min(flat) * len(flat)


@both_sources
def test_offsets_fill_the_published_ranges(source: str) -> None:
    assert range_p_value(offsets(drawn()[source])) > ALPHA
    assert range_p_value(offsets(drawn()[source], share=0.8)) < ALPHA  # planted


def seed_p_value(seeds: list[int]) -> float:
    """Uniformity of the highest and of the lowest four bits of 31."""
    high, low = (
        np.bincount(part, minlength=16) for part in ([s >> 27 for s in seeds], [s % 16 for s in seeds])
    )
    if max(len(high), len(low)) > 16:
        return 0.0
    return 2 * min(float(stats.chisquare(counts).pvalue) for counts in (high, low))


@both_sources
def test_noise_seeds_are_drawn_from_all_of_them(source: str) -> None:
    seeds = [scene.noise for scene in drawn()[source]]
    assert seed_p_value(seeds) > ALPHA
    assert seed_p_value([seed // 2 for seed in seeds]) < ALPHA  # planted: the lower half
    assert seed_p_value([seed & ~1 for seed in seeds]) < ALPHA  # planted: even ones
    assert RedrawNoise().log_q(drawn()["moves"][0], replace(drawn()["moves"][0], noise=1)) == -math.log(SEEDS)


def noise_p_value(mixture: Mixture, density: Mixture, given: Scene, draws: int = 3000) -> float:
    """Whether the noise alone is redrawn as often as `log_q` says, that is, with exp(log_q) of each seed."""
    rng = np.random.default_rng(31)
    alone = 0
    for _ in range(draws):
        to = mixture.propose(rng, given)
        alone += to.noise != given.noise and replace(to, noise=given.noise) == given
    chance = math.exp(density.log_q(replace(given, noise=(given.noise + 1) % SEEDS), given)) * SEEDS
    return float(stats.binomtest(alone, draws, chance).pvalue)


@dataclass(frozen=True)
class Depends(Mixture):
    """Planted: the noise is redrawn more often in scenes of more objects; log_q does not say so."""

    def propose(self, rng: np.random.Generator, z: Scene) -> Scene:
        if rng.random() < 0.02 * len(z.objects):
            return RedrawNoise().propose(rng, z)
        return super().propose(rng, z)


@pytest.mark.slow
def test_the_noise_move_is_as_frequent_as_log_q_says_in_every_scene() -> None:
    prior = ScenePrior(n_objects=(1, 6))
    moves = block_moves(ScenePrior(n_objects=(1, 1)))  # fresh scenes of one object cost little
    sizes = [ScenePrior(n_objects=(n, n)).sample(np.random.default_rng(n)) for n in (1, 3, 6)]
    assert {round(noise_chance(moves, scene), 12) for scene in sizes} == {0.05}
    assert {round(noise_chance(block_moves(prior), scene), 12) for scene in sizes} == {0.05}
    assert min(noise_p_value(moves, moves, scene) for scene in sizes) > ALPHA / 3
    planted = Depends(moves.moves, moves.weights)
    assert min(noise_p_value(planted, moves, scene) for scene in sizes) < ALPHA / 3


def noise_chance(moves: Mixture, scene: Scene) -> float:
    """The probability that the noise alone is redrawn, by log_q."""
    return math.exp(moves.log_q(replace(scene, noise=(scene.noise + 1) % SEEDS), scene)) * SEEDS


def shared(search: Callable[[Scene], tuple[Scene, ...]], fresh: Callable[[Scene], tuple[Scene, ...]]) -> int:
    """How many noise seeds the draws of a search and those that confirm its hits have in common, on 100 scenes."""
    scenes = [replace(scene, noise=place) for place, scene in enumerate(drawn()["prior"][:100])]
    return sum(
        len({scene.noise for scene in search(z)} & {scene.noise for scene in fresh(z)}) for z in scenes
    )


def test_confirming_draws_share_no_seed_with_those_of_the_search() -> None:
    assert shared(lambda z: noise_draws(z, 8), lambda z: fresh_draws(z, 8)) == 0
    assert shared(lambda z: noise_draws(z, 8), lambda z: noise_draws(z, 8)) == 800  # planted


def test_a_search_looks_at_other_seeds_than_the_check_of_its_hits() -> None:
    plan = make_plan(parse_query(QUERY, "q.toml", ["render.noise=5"]), Path())
    search = plan.open().scorer.draws
    assert search is not None and len(search(START)) == 5
    checks = [
        draw for z in fresh_draws(START, 6) for draw in search(z)
    ]  # each scored as the search scores a scene
    assert len({draw.noise for draw in checks}) == 30 and not {draw.noise for draw in search(START)} & {
        draw.noise for draw in checks
    }


def test_draws_differ_in_their_seed_alone_and_it_follows_the_scenes_own() -> None:
    for make in (noise_draws, fresh_draws):
        draws = make(START, 8)
        assert len({draw.noise for draw in draws}) == 8
        assert {replace(draw, noise=0) for draw in draws} == {replace(START, noise=0)}
        assert make(START, 8)[:3] == make(START, 3)
        assert fresh_draws(START, 5, 3) == fresh_draws(START, 8)[3:]
        others = make(replace(START, noise=START.noise ^ 1), 8)
        assert not {draw.noise for draw in draws} & {scene.noise for scene in others}
    assert noise_draws(START, 3)[0] == START
    derived = [draw.noise for k in range(300) for draw in fresh_draws(replace(START, noise=k), 2)]
    assert seed_p_value(derived) > ALPHA
