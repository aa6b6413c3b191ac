"""Programs on many variants of scenes at once give what `execute_on` gives for each; also beyond 16 objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from trex.scenes.graph import RELATIONS
from trex.scenes.misreading import census
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.bitsets import scene_sets
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import InvalidProgram, Program, Step, execute_on
from trex.scenes.questions.variants import Variants, joined
from trex.scenes.scene import ATTRIBUTES, Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR

VALUES = {name: CLEVR.values(name) for name in ATTRIBUTES}
COUNT_CONES = (Step("scene"), Step("filter_shape", (0,), ("cone",)), Step("count", (1,)))


def drawn() -> list[Scene]:
    prior = ScenePrior(n_objects=(3, 10))
    return [prior.sample(np.random.default_rng([1, i])) for i in range(15)]


def crowd(seed: int) -> Scene:
    """40 objects anywhere, which no prior draws."""
    rng = np.random.default_rng([2, seed])
    kinds = CLEVR.combinations()
    return Scene(
        tuple(SceneObject(*kinds[rng.integers(len(kinds))], *rng.uniform(-3, 3, 2), 0.0) for _ in range(40)),
        Nuisances(),
    )


def variants_of(scenes: Sequence[Scene]) -> Variants:
    """Each scene as one variant."""
    slots, n = max(len(scene.objects) for scene in scenes), len(scenes)
    codes = {name: np.zeros((slots, n), np.int64) for name in ATTRIBUTES}
    beyond = {name: np.zeros((slots, n), np.uint64) for name in RELATIONS}
    present = np.zeros(n, np.uint64)
    for v, scene in enumerate(scenes):
        sets = scene_sets(scene)
        present[v] = sets.everything
        for i, item in enumerate(scene.objects):
            for name in ATTRIBUTES:
                codes[name][i, v] = VALUES[name].index(getattr(item, name))
            for name in RELATIONS:
                beyond[name][i, v] = sets.beyond[name][i]
    return Variants(present, codes, beyond, VALUES, np.arange(n))


def differing(scenes: Sequence[Scene], programs: Sequence[Program]) -> tuple[int, int]:
    """How many answers are not those of one scene at a time, and how many questions have an answer."""
    questions = joined(programs)
    numbers, exist = questions.answers(variants_of(scenes))
    wrong = 0
    for q, program in enumerate(programs):
        for v, scene in enumerate(scenes):
            try:
                truth = execute_on(program, scene_sets(scene))
            except InvalidProgram:
                truth = None
            wrong += truth != (questions.text(q, int(numbers[q, v]), VALUES) if exist[q, v] else None)
    return wrong, int(exist.sum())


@pytest.mark.parametrize("scenes", [drawn(), [crowd(0)]], ids=["up to 10", "40 objects"])
def test_they_are_the_answers_of_each_scene(scenes: Sequence[Scene]) -> None:
    programs = [
        question.program
        for k, scene in enumerate(scenes[:2])
        for question in random_questions(np.random.default_rng(k), scene, 25)
    ]
    wrong, exist = differing(scenes, [*programs, *census(), COUNT_CONES])
    assert wrong == 0 and exist > 89 * len(scenes), "each question of the census has an answer everywhere"


def test_answers_in_words_are_the_numbers_and_others_fit_nothing() -> None:
    color = (Step("scene"), Step("unique", (0,)), Step("query_color", (1,)))
    is_one = (Step("scene"), Step("exist", (0,)))
    questions = joined([COUNT_CONES, color, is_one, is_one])
    assert questions.numbers(["3", VALUES["color"][2], "yes", "no"], VALUES).tolist() == [3, 2, 1, 0]
    assert questions.numbers(["²", "cube", "3", "9" * 99], VALUES).tolist() == [-1] * 4


def test_steps_that_programs_share_are_executed_once() -> None:
    questions = joined(census())
    assert len(questions.steps) < sum(map(len, census())) * 0.6
