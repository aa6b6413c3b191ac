"""What was misread is found from answers alone, and nothing is claimed where they do not tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trex.scenes import misreading
from trex.scenes.misreading import Answered, Misreading, census, explain
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import InvalidProgram, Program, execute_on
from trex.scenes.scene import Scene, with_attribute

SCENES = 12
PRIOR = ScenePrior(n_objects=(4, 6))


def drawn(number: int) -> tuple[Scene, list[Program]]:
    """A scene, with 40 questions about it and the census."""
    scene = PRIOR.sample(np.random.default_rng([3, number]))
    questions = random_questions(np.random.default_rng([4, number]), scene, 40)
    return scene, [question.program for question in questions] + census()


def answers(programs: list[Program], sets: SceneSets) -> list[Answered]:
    """What a model says that sees these sets; "no" where a question has no answer."""

    def said(program: Program) -> str:
        try:
            return execute_on(program, sets)
        except InvalidProgram:
            return "no"

    return [Answered(program, said(program)) for program in programs]


def found(number: int, kind: str) -> tuple[Misreading | None, tuple[Misreading, ...]]:
    """The misreading of object 0 that was planted, and what is found."""
    scene, programs = drawn(number)
    items = scene.objects
    if kind == "mirrored":
        sets = scene_sets(scene)
        turned = {**sets.beyond, "left": sets.beyond["right"], "right": sets.beyond["left"]}
        planted = Misreading("mirrored", None, "left and right")
        return planted, explain(scene, answers(programs, replace(sets, beyond=turned))).misreadings
    if kind == "missed":
        seen, planted = items[1:], Misreading("missed", 0)
    elif kind == "doubled":
        seen, planted = (*items, items[0]), Misreading("doubled", 0)
    else:
        value = next(v for v in ("cube", "sphere") if v != items[0].shape)
        seen, planted = (with_attribute(items[0], "shape", value), *items[1:]), Misreading("shape", 0, value)
    return planted, explain(scene, answers(programs, scene_sets(replace(scene, objects=seen)))).misreadings


@pytest.mark.parametrize("kind", ["missed", "doubled", "shape", "mirrored"])
def test_a_planted_misreading_is_found_and_no_other(kind: str) -> None:
    results = [found(number, kind) for number in range(SCENES)]
    right = [seen == (planted,) for planted, seen in results]
    assert all(ok or not seen for ok, (_, seen) in zip(right, results, strict=True)), results
    assert sum(right) >= SCENES - 2, results


def test_two_objects_that_exchange_their_color_are_both_named() -> None:
    """Or nothing is, where they differ in little else: then they might as well have exchanged their places."""
    right = 0
    for number in range(SCENES):
        scene, programs = drawn(number)
        scene_object = scene.objects[0]
        other = next(i for i, item in enumerate(scene.objects) if item.color != scene_object.color)
        items = list(scene.objects)
        items[0], items[other] = (
            with_attribute(scene_object, "color", items[other].color),
            with_attribute(items[other], "color", scene_object.color),
        )
        seen = answers(programs, scene_sets(replace(scene, objects=tuple(items))))
        named = {(read.kind, read.index, read.value) for read in explain(scene, seen).misreadings}
        assert named <= {("color", 0, items[0].color), ("color", other, items[other].color)}
        right += len(named) == 2
    assert right >= SCENES - 2


def test_right_answers_need_no_misreading() -> None:
    scene, programs = drawn(0)
    explained = explain(scene, answers(programs, scene_sets(scene)))
    assert explained.misreadings == () and set(explained.by) == {0}


def test_a_single_wrong_answer_explains_nothing() -> None:
    scene, programs = drawn(1)
    output = answers(programs, scene_sets(scene))
    at = next(i for i, answered in enumerate(output) if answered.said in ("yes", "no"))
    output[at] = Answered(output[at].program, "no" if output[at].said == "yes" else "yes")
    explained = explain(scene, output)
    assert explained.misreadings == () and explained.by[at] is None


def random_errors() -> int:
    """In how many scenes anything is named though every fifth number is wrong at random; a few questions, no census."""
    rng, named = np.random.default_rng(5), 0
    for number in range(SCENES):
        scene, programs = drawn(number)
        output = [
            Answered(answer.program, str(rng.integers(0, 11)))
            if rng.random() < 0.2 and answer.said.isdecimal()
            else answer
            for answer in answers(programs[:30], scene_sets(scene))
        ]
        named += bool(explain(scene, output).misreadings)
    return named


def test_answers_that_are_wrong_at_random_explain_nothing() -> None:
    assert random_errors() == 0


def test_a_margin_of_one_answer_names_what_was_not_misread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: one answer more for a change than against it is taken for evidence."""
    monkeypatch.setattr(misreading, "LEAST_MARGIN", 1)
    assert random_errors() > 0


def test_every_explained_answer_names_the_misreading_that_explains_it() -> None:
    scene, programs = drawn(2)
    seen = answers(programs, scene_sets(replace(scene, objects=scene.objects[1:])))
    explained = explain(scene, seen)
    truths = answers(programs, scene_sets(scene))
    for answered, truth, by in zip(seen, truths, explained.by, strict=True):
        assert by == (0 if answered.said == truth.said else 1)


def test_the_census_counts_every_value_and_every_pair() -> None:
    programs = census()
    assert len(programs) == len(set(programs)) == 15 + 2 * 8 + 2 * 2 + 2 * 3 + 8 * 2 + 8 * 3 + 2 * 3
