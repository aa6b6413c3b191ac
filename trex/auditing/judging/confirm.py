"""Step 3: failures in scenes that no rule was made from, again at the deciding look, under noise not seen before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trex.auditing.grouping.family import Family, Symptom, symptom_of, wrong_words
from trex.auditing.judging.flips import smallest_flip, truth_about
from trex.auditing.sweeping.examine import NUISANCES, Asker
from trex.auditing.sweeping.lines import Lines
from trex.auditing.sweeping.records import Examined, Mistake, Tested, Variants
from trex.inference.rng import AUDIT_STREAM, stream
from trex.inference.scoring import images
from trex.render.renderer import SceneRenderer
from trex.scenes.conditions import Facts
from trex.scenes.describe import object_words
from trex.scenes.edits import leave_out
from trex.scenes.misreading import Misreading, answer_if
from trex.scenes.noise import fresh_draws
from trex.scenes.prior import draw_nuisances
from trex.scenes.questions.families import SceneQuestion
from trex.scenes.questions.programs import Program
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.asking import Said

SHOWN = 3  # failures of a family that are looked at more closely
TRIES = 20  # other lights and cameras, until one leaves the scene valid
Wrong = tuple[Mistake, SceneQuestion]


def mistakes_of(family: Family, scene: Scene, one: Examined, failed: Sequence[int]) -> list[int]:
    """The places of the questions whose confident mistakes belong to failed units of a family.

    What two objects that exchange a value explain belongs to both of them.
    """
    if family.symptom.level == "question":
        return [mistake.at for mistake in one.mistakes if mistake.at in failed]
    blamed = {k for unit in failed for k in _readings(family, one, unit)}
    blamed |= {
        other for k in blamed for other in (k - 1, k + 1) if _are_exchanged(scene, one.misread, k, other)
    }
    return [mistake.at for mistake in one.mistakes if mistake.by in blamed]


def _readings(family: Family, one: Examined, unit: int) -> list[int]:
    """The places of the misreadings of a unit that are as the family's sentence says."""
    told = enumerate(map(symptom_of, one.misread))
    return [k for k, (symptom, at, _, said) in told if at == unit and family.covers(symptom, said)]


def _are_exchanged(scene: Scene, rows: Sequence[Misreading], one: int, other: int) -> bool:
    """Whether these neighboring misreadings are two objects of which each is seen with the other's value."""
    if not 0 <= other < len(rows):
        return False
    first, second = rows[one], rows[other]
    if first.kind != second.kind or first.kind not in ATTRIBUTES or None in (first.index, second.index):
        return False
    true = [getattr(scene.objects[row.index or 0], row.kind) for row in (first, second)]
    return first.index != second.index and [first.value, second.value] == true[::-1]


@dataclass(frozen=True)
class Way:
    """The way in which a scene's mistakes belong to a family, against which other answers can be held."""

    family: Family
    one: Examined
    vocabulary: Vocabulary

    def is_failure(self, scene: Scene, mistake: Mistake, question: SceneQuestion, said: str) -> bool:
        """Whether an answer to a mistaken question is wrong as the family's sentence says, `scene` being shown.

        About a misread scene it must be true of the scene as the sentence has the model see it, unless the question has
        no answer then.
        """
        if said == question.answer:
            return False
        if mistake.by is None or self.family.symptom.level == "question":
            return self.family.covers(Symptom("question", wrong_words(question.answer, said)), said)
        return any(answer in (None, said) for answer in self._answers(scene, mistake.by, question.program))

    def _answers(self, scene: Scene, by: int, program: Program) -> Iterator[str | None]:
        """The answers to be expected of a model that misreads the scene so."""
        rows = self.one.misread
        rows = rows[: by + 1 + _are_exchanged(scene, rows, by, by + 1)]
        for k in range(by, len(rows)):
            for read in self._covered(scene, rows[k]):
                yield answer_if(scene, (*rows[:k], read, *rows[k + 1 :]), program)

    def _covered(self, scene: Scene, read: Misreading) -> Iterator[Misreading]:
        """This misreading, and those of the same kind that the sentence holds for too."""
        yield read
        if read.index is not None and read.kind in ATTRIBUTES and not self.family.value:
            known = (getattr(scene.objects[read.index], read.kind), read.value)
            for value in self.vocabulary.available(read.kind):
                if value not in known:
                    yield replace(read, value=value)


def blamed_words(family: Family, scene: Scene, one: Examined, unit: int) -> str:
    """The object to blame and what becomes of it: "the small red metal cube, taken for cylinder"."""
    if family.symptom.level != "object":
        return ""
    read = one.misread[_readings(family, one, unit)[0]]
    what = {"missed": "missed", "doubled": "counted twice"}.get(read.kind, f"taken for {read.value}")
    return f"the {object_words(scene, unit)}, {what}"


@dataclass(frozen=True)
class Confirmer:
    """Asks the questions of a failure again: a renderer at the deciding look, and the model."""

    renderer: SceneRenderer
    asker: Asker

    def confirm(
        self,
        number: int,
        family: Family,
        failures: Sequence[tuple[Facts, Examined, list[int]]],
        log: Lines[Tested],
    ) -> None:
        """Ask about each failing scene once more, from where the log ends; the units are those that failed."""
        known = {row.scene: row for row in log.values if row.family == number}
        stayed = 0
        for facts, one, failed in failures:
            if one.scene in known:
                stayed += known[one.scene].stays
                continue
            row = self._asked_again(number, family, facts, one, failed, stayed < SHOWN)
            stayed += row.stays
            log.append([row])

    def _asked_again(
        self, number: int, family: Family, facts: Facts, one: Examined, failed: list[int], is_shown: bool
    ) -> Tested:
        """The mistakes stay if at least half of them are made again, as the family's sentence says and as surely."""
        questions = self.asker.questions(facts.scene, one.scene)
        places = mistakes_of(family, facts.scene, one, failed)
        wrong = [(mistake, questions[mistake.at]) for mistake in one.mistakes if mistake.at in places]
        scene, way = deciding_scene(facts.scene), Way(family, one, self.asker.vocabulary)
        said = self._said(scene, [question for _, question in wrong])
        sure = [
            answer.probability if way.is_failure(scene, *each, answer.answer) else 0.0
            for each, answer in zip(wrong, said, strict=True)
        ]
        first = int(np.argmax(sure)) if sure else 0
        is_object = family.symptom.level == "object"
        stays = bool(sure) and 2 * sum(p >= self.asker.sure for p in sure) >= len(sure)
        return Tested(
            family=number,
            scene=one.scene,
            stays=stays,
            confidence=round(sure[first], 6) if sure else 0.0,
            question=self.asker.words(wrong[first][1]) if wrong else "",
            said=said[first].answer if wrong else "",
            truth=wrong[first][1].answer if wrong else "",
            blamed=blamed_words(family, facts.scene, one, failed[0]),
            variants=self._variants(way, scene, wrong, failed[0]) if stays and is_shown else Variants(),
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

    def _variants(self, way: Way, scene: Scene, wrong: Sequence[Wrong], unit: int) -> Variants:
        """Whether the mistakes stay under another noise, other lights and camera, and without the object to blame.

        Without it only questions count whose true answer stays: a model that misses the object would be right about the
        others by saying the same again. No sentence says how these are answered, so that any wrong answer counts.
        """
        without = None
        if way.family.symptom.level == "object":
            left = leave_out(scene, unit)
            same = [each for each in wrong if truth_about(each[1], left) == each[1].answer]
            without = self._stay(left, same, lambda mistake, question, said: said != question.answer)
        noise, other = fresh_draws(scene, 1)[0], self._other_nuisances(scene, way.one.scene)
        return Variants(
            noise=self._stay(noise, wrong, partial(way.is_failure, noise)),
            nuisances=self._stay(other, wrong, partial(way.is_failure, other)),
            without=without,
        )

    def _other_nuisances(self, scene: Scene, number: int) -> Scene:
        """The objects under other lights and another camera; the scene itself where none of a few draws is valid."""
        rng = stream(self.asker.seed, AUDIT_STREAM, NUISANCES, number)
        draws = (replace(scene, nuisances=draw_nuisances(rng)) for _ in range(TRIES))
        return next((one for one in draws if is_valid(one, self.asker.vocabulary)), scene)

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
        said = self._said(scene, [question for _, question in left])
        stays = [
            is_failure(*each, one.answer) and one.probability >= self.asker.sure
            for each, one in zip(left, said, strict=True)
        ]
        return sum(stays) / len(stays)

    def _said(self, scene: Scene, questions: Sequence[SceneQuestion]) -> list[Said]:
        (image,) = images(self.renderer.render([scene]))
        return self.asker.ask(image, questions)


def deciding_scene(scene: Scene) -> Scene:
    """The scene that is rendered at the deciding look: with the first noise that the sweep has not seen."""
    return fresh_draws(scene, 1)[0]
