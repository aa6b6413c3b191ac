"""The smallest single change of a failing scene after which the model is right, among a few that are tried."""

from __future__ import annotations

import math

from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Flip
from trex.foundation.words import with_article
from trex.inference.scoring import images
from trex.render.renderer import SceneRenderer
from trex.scenes.describe import object_words
from trex.scenes.edits import Edit, attribute_edits, removals
from trex.scenes.graph import Facts
from trex.scenes.noise import fresh_draws
from trex.scenes.questions.families import SceneQuestion
from trex.scenes.questions.programs import InvalidProgram, execute
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary

TRIED = 8  # changes of one scene that are rendered, at most
NOISES = 2  # noise seeds under which the model must be right after a change
NEIGHBORS = 3  # objects that are left out one at a time, the nearest first


def smallest_flip(
    renderer: SceneRenderer, asker: Asker, facts: Facts, question: SceneQuestion, unit: int | None
) -> Flip | None:
    """The first change in the order of `single_changes` after which the model answers a question right.

    `facts.scene` is the failing scene, `unit` the object responsible. Each changed scene is rendered under noise seeds
    that were not seen before; None if the model's mistake does not outlast one of these in the scene as it is. Changes
    that make another answer true, or the scene invalid, are not tried: after them a model that says the same as before
    may be right without seeing any better.
    """
    scene = facts.scene
    if _is_right(renderer, asker, fresh_draws(scene, 1)[0], question, question.answer):
        return None
    changes = [
        (edit, changed)
        for edit in single_changes(facts, unit, asker.vocabulary)
        if truth_about(question, changed := edit.apply(scene)) == question.answer
        and is_valid(changed, asker.vocabulary)
    ]
    for tried, (edit, changed) in enumerate(changes[:TRIED], start=1):
        draws = fresh_draws(changed, NOISES)
        if all(_is_right(renderer, asker, one, question, question.answer) for one in draws):
            return Flip(tried, len(changes), change_words(edit, scene))
    return Flip(min(TRIED, len(changes)), len(changes))


def single_changes(facts: Facts, unit: int | None, vocabulary: Vocabulary) -> list[Edit]:
    """All single changes of a scene in the order in which they are tried, changes of an attribute before removals.

    First each attribute of the object responsible (of the least visible one if none is) becomes another value; then
    what hides it and its nearest neighbors are left out, one at a time, and then it is itself; then come all others.
    """
    scene = facts.scene
    if not scene.objects:
        return []
    first = min(range(len(scene.objects)), key=lambda i: facts.shares[i]) if unit is None else unit
    mine = [edit for edit in attribute_edits(scene, vocabulary) if edit.index == first]
    one_each = [edits[0] for name in ATTRIBUTES if (edits := [one for one in mine if one.attribute == name])]
    nearest = sorted(set(range(len(scene.objects))) - {first}, key=lambda i: _distance(facts, first, i))
    leading = [*one_each, *(Edit(i) for i in nearest[:NEIGHBORS]), Edit(first)]
    return list(dict.fromkeys((*leading, *mine, *attribute_edits(scene, vocabulary), *removals(scene))))


def change_words(edit: Edit, scene: Scene) -> str:
    """The change as the end of a sentence: "the small red metal cube becomes blue"."""
    name = f"the {object_words(scene, edit.index)}"
    if not edit.attribute:
        return f"{name} is left out"
    return f"{name} becomes {with_article(edit.value) if edit.attribute == 'shape' else edit.value}"


def _distance(facts: Facts, first: int, other: int) -> float:
    """On the ground; what hides an object is nearest to it."""
    if facts.hiders[first] == other:
        return -1.0
    one, two = facts.scene.objects[first], facts.scene.objects[other]
    return math.hypot(one.x - two.x, one.y - two.y)


def _is_right(
    renderer: SceneRenderer, asker: Asker, scene: Scene, question: SceneQuestion, truth: str
) -> bool:
    (image,) = images(renderer.render([scene]))
    (said,) = asker.ask(image, [question])
    return said.answer == truth


def truth_about(question: SceneQuestion, scene: Scene) -> str | None:
    """The true answer about another scene, None if there is none."""
    try:
        return execute(question.program, scene)
    except InvalidProgram:
        return None
