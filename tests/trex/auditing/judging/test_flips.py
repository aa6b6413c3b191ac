"""The smallest change after which a model is right: checked against faults whose conditions are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest

from tests.trex.auditing.planted_models import (
    Book,
    Planted,
    View,
    as_it_is,
    hidden_metal_cylinders_are_cubes,
)
from trex.auditing.examine import Asker
from trex.auditing.judging.confirm import (
    NEIGHBORS,
    NOISES,
    TRIED,
    change_words,
    single_changes,
    smallest_flip,
)
from trex.auditing.records import Flip
from trex.scenes.edits import Edit
from trex.scenes.graph import Facts, facts_of
from trex.scenes.noise import fresh_draws
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.families import FAMILIES, SceneQuestion
from trex.scenes.questions.programs import Step, execute
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR

CYLINDERS = (Step("scene"), Step("filter_shape", (0,), ("cylinder",)), Step("count", (1,)))


def hidden_cylinders() -> Iterator[tuple[Facts, int]]:
    """Scenes with just one hidden metal cylinder, and its index."""
    prior = ScenePrior(CLEVR, n_objects=(5, 6))
    for i in range(3000):
        facts = facts_of(prior.sample(np.random.default_rng([4, i])), CLEVR)
        mine = [
            k
            for k, item in enumerate(facts.scene.objects)
            if (item.shape, item.material) == ("cylinder", "metal") and facts.shares[k] < 0.6
        ]
        if len(mine) == 1:
            yield facts, mine[0]


@cache
def first_cases() -> list[tuple[Facts, int]]:
    return list(islice(hidden_cylinders(), 4))


def flip(facts: Facts, unit: int | None, view: View, book: Book | None = None) -> Flip | None:
    book = book or Book()
    asker = Asker(Planted(book, view), CLEVR, 10, 0, 0.9)
    question = SceneQuestion(FAMILIES[0], CYLINDERS, execute(CYLINDERS, facts.scene))
    return smallest_flip(book, asker, facts, question, unit)


@pytest.mark.parametrize("number", range(4))
def test_the_change_undoes_the_planted_conditions(number: int) -> None:
    """Another color never helps; another material, or a larger size in full view, does."""
    facts, unit = first_cases()[number]
    found = flip(facts, unit, hidden_metal_cylinders_are_cubes)
    assert found is not None and found.change
    assert "metal cylinder becomes" in found.change and not found.change.endswith(
        tuple(CLEVR.available("color"))
    )
    tried = single_changes(facts, unit, CLEVR)[:TRIED]
    (edit,) = [item for item in tried if change_words(item, facts.scene) == found.change]
    changed = facts_of(edit.apply(facts.scene), CLEVR)
    assert execute(CYLINDERS, changed.scene) == execute(CYLINDERS, facts.scene)
    assert hidden_metal_cylinders_are_cubes(changed) == as_it_is(changed)


def test_a_model_that_stays_wrong_has_no_flip_within_the_budget() -> None:
    def one_more(facts: Facts) -> SceneSets:
        cylinder = next(item for item in first_cases()[0][0].scene.objects if item.shape == "cylinder")
        return scene_sets(replace(facts.scene, objects=(*facts.scene.objects, cylinder)))

    book = Book()
    found = flip(*first_cases()[0], one_more, book)
    assert found is not None and found.change == "" and found.tried == TRIED < found.possible
    assert len(book.facts) <= 1 + TRIED * NOISES


def test_a_change_after_which_the_wrong_answer_is_true_helps_nothing() -> None:
    """The planted bug: a model that counts no cylinder whatever it sees is right once the only one is a sphere."""
    facts, unit = next(case for case in hidden_cylinders() if execute(CYLINDERS, case[0].scene) == "1")

    def no_cylinder(seen: Facts) -> SceneSets:
        others = tuple(item for item in seen.scene.objects if item.shape != "cylinder")
        return scene_sets(replace(seen.scene, objects=others))

    found = flip(facts, unit, no_cylinder)
    assert found is not None and found.change == "" and found.tried > 0


def test_nothing_is_looked_for_where_the_mistake_does_not_outlast_noise() -> None:
    book = Book()
    assert flip(*first_cases()[0], as_it_is, book) is None
    assert len(book.facts) == 1


def test_a_change_must_help_under_every_noise_seed() -> None:
    """The planted bug: a model that is wrong of the scene, and right of one noise seed of each changed scene."""
    facts, unit = first_cases()[0]
    lucky = {fresh_draws(edit.apply(facts.scene), 1)[0] for edit in single_changes(facts, unit, CLEVR)}
    lucky.discard(fresh_draws(facts.scene, 1)[0])

    def by_luck(seen: Facts) -> SceneSets:
        cylinder = facts.scene.objects[unit]
        return scene_sets(
            seen.scene
            if seen.scene in lucky
            else replace(seen.scene, objects=(*seen.scene.objects, cylinder))
        )

    found = flip(facts, unit, by_luck)
    assert found is not None and found.change == ""


def test_changes_are_tried_from_small_to_large_and_each_once() -> None:
    facts, unit = first_cases()[1]
    changes = single_changes(facts, unit, CLEVR)
    assert [edit.attribute for edit in changes[:4]] == list(ATTRIBUTES)
    assert all(edit.index == unit for edit in changes[:4])
    left_out = changes[4 : 4 + NEIGHBORS]
    assert all(not edit.attribute for edit in left_out) and unit not in {edit.index for edit in left_out}
    assert facts.hiders[unit] == left_out[0].index
    assert changes[4 + NEIGHBORS] == Edit(unit)
    assert len(set(changes)) == len(changes)
    n = len(facts.scene.objects)
    assert len(changes) == n * (1 + sum(len(CLEVR.available(name)) - 1 for name in ATTRIBUTES))


def test_an_empty_scene_has_no_change() -> None:
    empty = replace(first_cases()[0][0].scene, objects=())
    assert single_changes(Facts(empty, (), (), ()), None, CLEVR) == []
