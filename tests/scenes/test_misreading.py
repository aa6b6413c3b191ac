"""What would be true of a scene as it is misread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from trex.scenes.misreading import Misreading, Reading, answer_if, answers_if, category_of, census, counting
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import InvalidProgram, Program, Step, execute_on
from trex.scenes.scene import Scene, SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR

SCENE = ScenePrior(n_objects=(5, 5)).sample(np.random.default_rng(3))
PHANTOM = "small purple metal cube"


def programs(scene: Scene) -> list[Program]:
    """40 questions about a scene, and the census."""
    questions = random_questions(np.random.default_rng(4), scene, 40)
    return [question.program for question in questions] + census()


def answers(sets: SceneSets, asked: Sequence[Program]) -> list[str | None]:
    found: list[str | None] = []
    for program in asked:
        try:
            found.append(execute_on(program, sets))
        except InvalidProgram:
            found.append(None)
    return found


def with_objects(*items: SceneObject) -> SceneSets:
    return scene_sets(replace(SCENE, objects=items))


def mirrored() -> SceneSets:
    sets = scene_sets(SCENE)
    return replace(sets, beyond=sets.beyond | {"left": sets.beyond["right"], "right": sets.beyond["left"]})


FIRST, *REST = SCENE.objects
RED = with_attribute(FIRST, "color", "red")


@pytest.mark.parametrize(
    ("reading", "sets"),
    [
        ([], scene_sets(SCENE)),
        ([Misreading("missed", 0)], with_objects(*REST)),
        ([Misreading("doubled", 0)], with_objects(*SCENE.objects, FIRST)),
        ([Misreading("color", 0, "red")], with_objects(RED, *REST)),
        ([Misreading("doubled", 0), Misreading("color", 0, "red")], with_objects(RED, *REST, RED)),
        ([Misreading("missed", 1), Misreading("color", 0, "red")], with_objects(RED, *REST[1:])),
        ([Misreading("mirrored", None, "left and right")], mirrored()),
    ],
    ids=str,
)
def test_it_is_what_is_true_of_the_changed_scene(reading: Reading, sets: SceneSets) -> None:
    asked = programs(SCENE)
    assert [answer_if(SCENE, reading, program) for program in asked] == answers(sets, asked)


def test_a_phantom_counts_wherever_it_stands_and_its_relations_are_unknown() -> None:
    """What is true of the phantom at each of many places is the answer; what differs between places has none."""
    shape, size, color, material = category_of(PHANTOM)
    places = np.random.default_rng(5).uniform(-3, 3, (40, 2))
    scenes = [
        with_objects(*SCENE.objects, SceneObject(shape, size, color, material, x, y, 0.0)) for x, y in places
    ]
    asked = programs(SCENE)
    known = 0
    everywhere = [answers(sets, asked) for sets in scenes]
    for program, *found in zip(asked, *everywhere, strict=True):
        answer = answer_if(SCENE, [Misreading("phantom", None, PHANTOM)], program)
        known += answer is not None
        assert answer is None or set(found) == {answer}
    assert known > len(census()), "every question of the census, and some others"
    left = (
        *counting([("shape", "cube"), ("color", "purple")])[:3],
        Step("unique", (2,)),
        Step("relate", (3,), ("left",)),
    )
    count = (*left, Step("count", (4,)))
    assert answer_if(SCENE, [Misreading("phantom", None, PHANTOM)], count) is None


def test_many_readings_at_once_are_each_by_itself() -> None:
    readings = [
        [],
        [Misreading("phantom", None, PHANTOM)],
        [Misreading("missed", 2)],
        [Misreading("doubled", 1)],
    ]
    for program in programs(SCENE)[:20]:
        assert answers_if(SCENE, readings, program) == [answer_if(SCENE, each, program) for each in readings]


def test_of_no_object_there_is_nothing_but_phantoms() -> None:
    empty = replace(SCENE, objects=())
    asked = programs(SCENE)
    assert [answer_if(empty, [], program) for program in asked] == answers(scene_sets(empty), asked)
    assert answer_if(empty, [Misreading("phantom", None, PHANTOM)], counting([("color", "purple")])) == "1"


def test_values_outside_the_vocabulary_are_read_too() -> None:
    cones = counting([("shape", "cone")])
    assert answer_if(SCENE, [Misreading("shape", 0, "cone"), Misreading("shape", 1, "cone")], cones) == "2"
    assert answer_if(SCENE, [Misreading("phantom", None, "small red metal traffic cone")], cones) == "0"


def test_the_census_counts_every_value_and_every_pair_revoked_ones_included() -> None:
    asked = census(CLEVR.revoke("cube"))
    assert asked == census() and len(asked) == len(set(asked))
    assert len(asked) == 15 + 2 * 8 + 2 * 2 + 2 * 3 + 8 * 2 + 8 * 3 + 2 * 3
