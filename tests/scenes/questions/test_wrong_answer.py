"""The prior given that an answer is wrong: its sampler is exact, and chains keep it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from tests.references.scene_strategies import random_scene
from tests.references.statistics import ALPHA
from trex.foundation.errors import InputError
from trex.scenes import prior as priors
from trex.scenes.moves.block_moves import block_moves
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.questions.wrong_answer import WrongAnswer
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

CUBES = parse("How many cubes are there?")
NONE = WrongAnswer(CUBES, ("0",))  # wrong where there is a cube
FREE = ScenePrior(CLEVR, (1, 2))
GIVEN = replace(FREE, wrong=NONE)
N = 1000
Draw = Callable[[np.random.Generator], Scene]


def scene_of_shapes(*shapes: str) -> Scene:
    scene = random_scene(np.random.default_rng(len(shapes)), len(shapes))
    items = (replace(item, shape=shape) for item, shape in zip(scene.objects, shapes, strict=True))
    return replace(scene, objects=tuple(items))


def test_an_answer_is_wrong_where_another_one_is_true() -> None:
    one_or_two = WrongAnswer(CUBES, ("1", "2"))
    assert one_or_two.is_wrong(scene_of_shapes("sphere", "cylinder"))
    assert one_or_two.is_wrong(scene_of_shapes("cube", "cube", "cube"))
    assert not one_or_two.is_wrong(scene_of_shapes("cube", "sphere", "cube"))
    assert not one_or_two.is_wrong(scene_of_shapes("cube"))


def test_no_answer_is_wrong_where_the_question_has_none() -> None:
    red = WrongAnswer(parse("What color is the cube?"), ("red",))
    scene = scene_of_shapes("cube", "sphere")
    for color in ("blue", "red"):
        cube = replace(scene.objects[0], color=color)
        assert red.is_wrong(replace(scene, objects=(cube, scene.objects[1]))) is (color == "blue")
    assert not red.is_wrong(scene_of_shapes("cube", "cube"))  # CLEVR has no answer: which cube?
    assert not red.is_wrong(scene_of_shapes("sphere"))


def kinds(draw: Draw, seed: int, n: int = N) -> Counter[tuple[int, int]]:
    """How often scenes have so many objects, and so many cubes."""
    rng = np.random.default_rng(seed)
    scenes = (draw(rng) for _ in range(n))
    return Counter(
        (len(scene.objects), sum(item.shape == "cube" for item in scene.objects)) for scene in scenes
    )


def expected() -> dict[tuple[int, int], float]:
    """P(objects, cubes) given a cube: 1 or 2 objects equally likely, each a cube with 1/3.

    Validity depends on sizes and places; that cubes hide a little more than other shapes is left out. Scenes thrown
    away by the definition are held against this too.
    """
    free = {(n, k): stats.binom.pmf(k, n, 1 / 3) / 3 for n in (1, 2) for k in range(1, n + 1)}
    total = sum(free.values())
    return {kind: p / total for kind, p in free.items()}


def p_value(counted: Counter[tuple[int, int]]) -> float:
    shares = expected()
    assert set(counted) <= set(shares), counted
    n = sum(counted.values())
    return float(stats.chisquare([counted[kind] for kind in shares], [n * p for p in shares.values()]).pvalue)


def rejected(rng: np.random.Generator) -> Scene:
    """The definition: scenes of the free prior, thrown away unless the condition holds."""
    while True:
        scene = FREE.sample(rng)
        if NONE.is_wrong(scene):
            return scene


@dataclass(frozen=True)
class KeepsNumber(ScenePrior):
    """A planted bug: draws again with the same number of objects, so that few objects are too likely."""

    def sample(self, rng: np.random.Generator) -> Scene:
        n = int(rng.integers(self.n_objects[0], self.n_objects[1] + 1))
        return ScenePrior(self.vocabulary, (n, n), self.wrong).sample(rng)


@pytest.mark.slow
def test_the_sampler_is_exact_and_one_that_keeps_the_number_of_objects_is_caught() -> None:
    assert p_value(kinds(rejected, 1)) > ALPHA
    assert p_value(kinds(GIVEN.sample, 2)) > ALPHA
    assert p_value(kinds(KeepsNumber(CLEVR, (1, 2), NONE).sample, 3)) < ALPHA


def test_the_condition_changes_the_world_and_none_leaves_it_as_it_was() -> None:
    assert FREE.world == (CLEVR.combinations(), CLEVR.cards, (1, 2))
    assert len({FREE.world, GIVEN.world, replace(FREE, wrong=WrongAnswer(CUBES, ("1",))).world}) == 3
    cubeless = scene_of_shapes("sphere")
    assert GIVEN.log_density(cubeless) == -math.inf < FREE.log_density(cubeless)
    cube = scene_of_shapes("cube")
    assert GIVEN.log_density(cube) == FREE.log_density(cube)


def chain_ends(density: ScenePrior, steps: int, seed: int, n: int) -> Counter[tuple[int, int]]:
    """Where chains of all block moves, begun in draws of the conditioned prior, are after some steps."""
    moves = block_moves(GIVEN)

    def end(rng: np.random.Generator) -> Scene:
        scene = GIVEN.sample(rng)
        for _ in range(steps):
            to = moves.propose(rng, scene)
            if density.log_density(to) == -math.inf:
                continue
            gain = density.log_density(to) - density.log_density(scene)
            gain += moves.log_q(scene, to) - moves.log_q(to, scene)
            scene = to if math.log(rng.random()) < gain else scene
        return scene

    return kinds(end, seed, n)


@pytest.mark.slow
def test_chains_keep_the_conditioned_prior_and_ones_that_forget_the_condition_are_caught() -> None:
    assert p_value(chain_ends(GIVEN, 6, 4, 500)) > ALPHA
    forgotten = chain_ends(FREE, 6, 5, 100)
    assert not set(forgotten) <= set(expected())


def test_a_condition_that_no_scene_meets_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "MAX_SCENES", 20)
    never = replace(FREE, vocabulary=CLEVR.revoke("cube"), wrong=NONE)
    with pytest.raises(InputError, match="none of 20 scenes meets the condition 'only where 0 is wrong'"):
        never.sample(np.random.default_rng(0))
