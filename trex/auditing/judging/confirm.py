"""Failures in scenes that no rule was made from, again at the deciding look, and the smallest change that ends one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trex.auditing.examine import NUISANCES, Asker
from trex.auditing.judging.membership import Membership, counts_of, mistakes_of, responsible_words
from trex.auditing.records import Examined, Flip, Mistake, Tested, Variants
from trex.families.family import Family
from trex.foundation.words import with_article
from trex.inference.rng import AUDIT_STREAM, stream
from trex.inference.scoring import images
from trex.render.renderer import SceneRenderer
from trex.scenes.edits import Edit, attribute_edits, leave_out, removals
from trex.scenes.graph import Facts
from trex.scenes.noise import fresh_draws
from trex.scenes.questions.families import FAMILIES, SceneQuestion
from trex.scenes.questions.programs import InvalidProgram, execute
from trex.scenes.scene import ATTRIBUTES, Scene, object_words
from trex.scenes.validity import is_valid
from trex.scenes.views import other_views
from trex.scenes.vocabulary import Vocabulary
from trex.trials.lines import Rows
from trex.worlds.asking import Said

SHOWN = 3  # failures of a family that are looked at more closely
Wrong = tuple[Mistake, SceneQuestion]
Failing = tuple[Facts, Examined, list[int]]  # a failing scene, and its units that fail as a family says
TRIED = 8  # changes of one scene that are rendered, at most
NOISES = 2  # noise seeds under which the model must be right after a change
NEIGHBORS = 3  # objects that are left out one at a time, the nearest first


@dataclass(frozen=True)
class Confirmer:
    """Asks the questions of a failure again: a renderer at the deciding look, and the model.

    `explain`: SHOWN failures of a family that stay are also rendered with changes.
    """

    renderer: SceneRenderer
    asker: Asker
    explain: bool = True

    def confirm(
        self,
        number: int,
        family: Family,
        failures: Sequence[Failing],
        log: Rows[Tested],
    ) -> None:
        """Ask about each failing scene once more, from where the log ends; the units are those that failed."""
        known = {row.scene: row for row in log.values if row.family == number}
        stayed = 0
        for facts, examined, failed in failures:
            if examined.scene in known:
                stayed += known[examined.scene].stays
                continue
            row = self._examined_again(
                number, family, facts, examined, failed, self.explain and stayed < SHOWN
            )
            stayed += row.stays
            log.append([row])

    def _examined_again(
        self, number: int, family: Family, facts: Facts, examined: Examined, failed: list[int], is_shown: bool
    ) -> Tested:
        """The mistakes stay if at least half of them are made again, as the family's sentence says and as surely."""
        wrong = mistaken(family, (facts, examined, failed), self.asker)
        scene, membership = deciding_scene(facts.scene), Membership(family, examined, self.asker.vocabulary)
        output = self._answers(scene, [question for _, question in wrong])
        sure = [
            answer.probability if membership.is_failure(scene, *each, answer.answer) else 0.0
            for each, answer in zip(wrong, output, strict=True)
        ]
        first = int(np.argmax(sure)) if sure else 0
        is_object = family.symptom.level == "object"
        stays = (
            bool(sure)
            and 2 * sum(p >= self.asker.sure for p in sure) >= len(sure)
            and self._is_value_shown(membership, scene, failed[0])
        )
        return Tested(
            family=number,
            scene=examined.scene,
            stays=stays,
            confidence=round(sure[first], 6) if sure else 0.0,
            question=self.asker.words(wrong[first][1]) if wrong else "",
            said=output[first].answer if wrong else "",
            truth=wrong[first][1].answer if wrong else "",
            blamed=responsible_words(family, facts.scene, examined, failed[0]),
            variants=self._variants(membership, scene, wrong, failed[0])
            if stays and is_shown
            else Variants(),
            flip=smallest_flip(
                self.renderer,
                self.asker,
                replace(facts, scene=scene),
                wrong[first][1],
                failed[0] if is_object else None,
            )
            if stays and is_shown
            else None,
        )

    def _is_value_shown(self, membership: Membership, scene: Scene, unit: int) -> bool:
        """Whether the model takes an object for what the sentence names; True if it names no value of an object."""
        family = membership.family
        if family.symptom.level != "object" or not family.value:
            return True
        programs = counts_of(scene.objects[unit], family.symptom.what, self.asker.vocabulary)
        questions = [SceneQuestion(FAMILIES[0], program, execute(program, scene)) for program in programs]
        output = self._answers(scene, questions)
        return membership.is_taken_for(
            scene, unit, {program: item.answer for program, item in zip(programs, output, strict=True)}
        )

    def _variants(self, membership: Membership, scene: Scene, wrong: Sequence[Wrong], unit: int) -> Variants:
        """Whether the mistakes stay under another noise, other lights and camera, and without the object responsible.

        Without it only questions count whose true answer stays: a model that misses the object would be right about the
        others by saying the same again. No sentence says how these are answered, so that any wrong answer counts.
        """
        without = None
        if membership.family.symptom.level == "object":
            left = leave_out(scene, unit)
            same = [each for each in wrong if truth_about(each[1], left) == each[1].answer]
            without = self._stay(left, same, lambda mistake, question, text: text != question.answer)
        noise, other = fresh_draws(scene, 1)[0], self._other_nuisances(scene, membership.examined.scene)
        return Variants(
            noise=self._stay(noise, wrong, partial(membership.is_failure, noise)),
            nuisances=self._stay(other, wrong, partial(membership.is_failure, other)),
            without=without,
        )

    def _other_nuisances(self, scene: Scene, number: int) -> Scene:
        """The objects under other lights and another camera; the scene itself if no draw of them is valid."""
        rng = stream(self.asker.seed, AUDIT_STREAM, NUISANCES, number)
        return next(iter(other_views(rng, scene, 1, self.asker.vocabulary).scenes), scene)

    def _stay(
        self,
        scene: Scene,
        wrong: Sequence[Wrong],
        is_failure: Callable[[Mistake, SceneQuestion, str], bool],
    ) -> float | None:
        """The share of questions that surely get such an answer about a changed scene; None if none is left."""
        left = [
            (mistake, question._replace(answer=truth))
            for mistake, question in wrong
            if (truth := truth_about(question, scene)) is not None
        ]
        if not left:
            return None
        output = self._answers(scene, [question for _, question in left])
        stays = [
            is_failure(*each, item.answer) and item.probability >= self.asker.sure
            for each, item in zip(left, output, strict=True)
        ]
        return sum(stays) / len(stays)

    def _answers(self, scene: Scene, questions: Sequence[SceneQuestion]) -> list[Said]:
        (image,) = images(self.renderer.render([scene]))
        return self.asker.ask(image, questions)


def mistaken(family: Family, failing: Failing, asker: Asker) -> list[Wrong]:
    """The confident mistakes of a failing scene that belong to a family, with their questions."""
    facts, examined, failed = failing
    questions = asker.questions(facts.scene, examined.scene)
    places = mistakes_of(family, facts.scene, examined, failed)
    return [(mistake, questions[mistake.at]) for mistake in examined.mistakes if mistake.at in places]


def deciding_scene(scene: Scene) -> Scene:
    """The scene that is rendered at the deciding look: with the first noise that the sweep has not seen."""
    return fresh_draws(scene, 1)[0]


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
        if all(_is_right(renderer, asker, draw, question, question.answer) for draw in draws):
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
    one_each = [
        edits[0] for name in ATTRIBUTES if (edits := [edit for edit in mine if edit.attribute == name])
    ]
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
    scene_object, two = facts.scene.objects[first], facts.scene.objects[other]
    return math.hypot(scene_object.x - two.x, scene_object.y - two.y)


def _is_right(
    renderer: SceneRenderer, asker: Asker, scene: Scene, question: SceneQuestion, truth: str
) -> bool:
    (image,) = images(renderer.render([scene]))
    (output,) = asker.ask(image, [question])
    return output.answer == truth


def truth_about(question: SceneQuestion, scene: Scene) -> str | None:
    """The true answer about another scene, None if there is none."""
    try:
        return execute(question.program, scene)
    except InvalidProgram:
        return None
