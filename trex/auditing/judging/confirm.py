"""Step 3: failures in scenes that no rule was made from, again at the deciding look, under noise not seen before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.auditing.grouping.family import Family, wrong_words
from trex.auditing.judging.flips import smallest_flip, truth_about
from trex.auditing.sweeping.examine import NUISANCES, Asker
from trex.auditing.sweeping.lines import Lines
from trex.auditing.sweeping.records import Examined, Tested, Variants
from trex.inference.rng import AUDIT_STREAM, stream
from trex.inference.scoring import images
from trex.render.renderer import SceneRenderer
from trex.scenes.conditions import Facts
from trex.scenes.describe import object_words
from trex.scenes.edits import leave_out
from trex.scenes.misreading import Misreading
from trex.scenes.noise import fresh_draws
from trex.scenes.prior import draw_nuisances
from trex.scenes.questions.families import SceneQuestion
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.validity import is_valid

SHOWN = 3  # failures of a family that are looked at more closely
TRIES = 20  # other lights and cameras, until one leaves the scene valid


def mistakes_of(family: Family, scene: Scene, one: Examined, failed: Sequence[int]) -> list[int]:
    """The places of the questions whose confident mistakes belong to failed units of a family.

    What two objects that exchange a value explain belongs to both of them.
    """
    if family.symptom.level == "question":
        return [mistake.at for mistake in one.mistakes if mistake.at in failed]
    blamed = {
        k
        for k, read in enumerate(one.misread)
        if (read.value if read.index is None else read.kind) == family.symptom.what
        and (read.index or 0) in failed
    }
    blamed |= {
        other for k in blamed for other in (k - 1, k + 1) if _are_exchanged(scene, one.misread, k, other)
    }
    return [mistake.at for mistake in one.mistakes if mistake.by in blamed]


def _are_exchanged(scene: Scene, rows: Sequence[Misreading], one: int, other: int) -> bool:
    """Whether these neighboring misreadings are two objects of which each is seen with the other's value."""
    if not 0 <= other < len(rows):
        return False
    first, second = rows[one], rows[other]
    if first.kind != second.kind or first.kind not in ATTRIBUTES or None in (first.index, second.index):
        return False
    true = [getattr(scene.objects[row.index or 0], row.kind) for row in (first, second)]
    return first.index != second.index and [first.value, second.value] == true[::-1]


def _fails_so(family: Family, truth: str, said: str) -> bool:
    """Whether an answer is wrong and, in a family of wrong answers, wrong in the family's way."""
    return said != truth and (
        family.symptom.level != "question" or wrong_words(truth, said) == family.symptom.what
    )


def blamed_words(family: Family, scene: Scene, one: Examined, unit: int) -> str:
    """The object to blame and what becomes of it: "the small red metal cube, taken for cylinder"."""
    if family.symptom.level != "object":
        return ""
    read = next(row for row in one.misread if (row.kind, row.index) == (family.symptom.what, unit))
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
        done = [row for row in log.values if row.family == number]
        stayed = sum(row.stays for row in done)
        for facts, one, failed in failures[len(done) :]:
            row = self._asked_again(number, family, facts, one, failed, stayed < SHOWN)
            stayed += row.stays
            log.append([row])

    def _asked_again(
        self, number: int, family: Family, facts: Facts, one: Examined, failed: list[int], is_shown: bool
    ) -> Tested:
        """The mistakes stay if at least half of them are made again, of the same kind and as surely."""
        questions = self.asker.questions(facts.scene, one.scene)
        wrong = [questions[at] for at in mistakes_of(family, facts.scene, one, failed)]
        scene = deciding_scene(facts.scene)
        (image,) = images(self.renderer.render([scene]))
        said = self.asker.ask(image, wrong)
        sure = [
            answer.probability if _fails_so(family, question.answer, answer.answer) else 0.0
            for question, answer in zip(wrong, said, strict=True)
        ]
        first = int(np.argmax(sure)) if sure else 0
        is_object = family.symptom.level == "object"
        stays = bool(sure) and 2 * sum(p >= self.asker.sure for p in sure) >= len(sure)
        return Tested(
            family=number,
            scene=one.scene,
            stays=stays,
            confidence=round(sure[first], 6) if sure else 0.0,
            question=self.asker.words(wrong[first]) if wrong else "",
            said=said[first].answer if wrong else "",
            truth=wrong[first].answer if wrong else "",
            blamed=blamed_words(family, facts.scene, one, failed[0]),
            variants=self._variants(family, scene, wrong, one.scene, failed[0])
            if stays and is_shown
            else Variants(),
            flip=smallest_flip(
                self.renderer,
                self.asker,
                replace(facts, scene=scene),
                wrong[first],
                failed[0] if is_object else None,
            )
            if stays and is_shown
            else None,
        )

    def _variants(
        self, family: Family, scene: Scene, questions: Sequence[SceneQuestion], number: int, unit: int
    ) -> Variants:
        """Whether the mistakes stay under another noise, other lights and camera, and without the object to blame.

        Without it only questions count whose true answer stays: a model that misses the object would be right about the
        others by saying the same again.
        """
        without = None
        if family.symptom.level == "object":
            left = leave_out(scene, unit)
            same = [row for row in questions if truth_about(row, left) == row.answer]
            without = self._stay(left, same)
        return Variants(
            noise=self._stay(fresh_draws(scene, 1)[0], questions),
            nuisances=self._stay(self._other_nuisances(scene, number), questions),
            without=without,
        )

    def _other_nuisances(self, scene: Scene, number: int) -> Scene:
        """The objects under other lights and another camera; the scene itself where none of a few draws is valid."""
        rng = stream(self.asker.seed, AUDIT_STREAM, NUISANCES, number)
        draws = (replace(scene, nuisances=draw_nuisances(rng)) for _ in range(TRIES))
        return next((one for one in draws if is_valid(one, self.asker.vocabulary)), scene)

    def _stay(self, scene: Scene, questions: Sequence[SceneQuestion]) -> float | None:
        """The share of questions that are answered wrong and surely about a changed scene; None if none is left."""
        truths = [truth_about(row, scene) for row in questions]
        left = [(row, truth) for row, truth in zip(questions, truths, strict=True) if truth is not None]
        if not left:
            return None
        (image,) = images(self.renderer.render([scene]))
        said = self.asker.ask(image, [row for row, _ in left])
        wrong = [
            one.answer != truth and one.probability >= self.asker.sure
            for (_, truth), one in zip(left, said, strict=True)
        ]
        return sum(wrong) / len(wrong)


def deciding_scene(scene: Scene) -> Scene:
    """The scene that is rendered at the deciding look: with the first noise that the sweep has not seen."""
    return fresh_draws(scene, 1)[0]
