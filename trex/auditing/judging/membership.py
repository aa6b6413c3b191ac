"""Examined scenes as families see them: what failed in each, and which mistakes are as a family's sentence says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from trex.auditing.examine import Asker
from trex.auditing.records import Examined, Mistake
from trex.families.discover import Situation, Vocabularies, conditions_of
from trex.families.family import Family
from trex.families.symptom import (
    PHANTOM,
    Failure,
    Symptom,
    answered,
    is_such,
    misread,
    seen_words,
    wrong_words,
)
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading, answer_if, answers_if, counting, phantoms
from trex.scenes.questions.families import SceneQuestion
from trex.scenes.questions.programs import Program
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject, object_words
from trex.scenes.vocabulary import Vocabulary

Memberships = Sequence[Sequence[set[int]]]  # of each picture and confident mistake, the families by number


class ExaminedScene(Situation):
    """One scene of an audit, with what the model said about it."""

    def __init__(
        self, facts: Facts, examined: Examined, asker: Asker, conditions: Vocabularies | None = None
    ) -> None:
        super().__init__(
            facts,
            failures_of(examined),
            conditions or conditions_of(asker.vocabulary),
            [answer.truth for answer in examined.answers],
            lambda: asker.asked(facts.scene, examined.scene),
        )
        self.examined = examined


def situations(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> list[ExaminedScene]:
    """The situations of examined scenes."""
    conditions = conditions_of(asker.vocabulary)
    return [ExaminedScene(facts, examined, asker, conditions) for facts, examined in rows]


def failures_of(examined: Examined) -> list[Failure]:
    """What failed in a picture.

    Kinds of wrong answers count only where nothing is known to be misread: otherwise they may follow from that.
    """
    if examined.misread:
        return [misread(misreading) for misreading in examined.misread]
    answers = ((mistake.at, examined.answers[mistake.at]) for mistake in examined.mistakes)
    return [answered(at, answer.truth, answer.said) for at, answer in answers]


def memberships_of(families: Sequence[Family], scenes: Sequence[ExaminedScene]) -> list[list[set[int]]]:
    """For each picture and confident mistake, the numbers of the families that it belongs to."""
    memberships = []
    for situation in scenes:
        examined = situation.examined
        mine: dict[int, set[int]] = {mistake.at: set() for mistake in examined.mistakes}
        for number, family in enumerate(families if examined.mistakes else ()):
            if situation.everywhere(family):
                failed, *_ = situation.failing(family)
                for at in mistakes_of(family, situation.facts.scene, examined, failed):
                    mine[at].add(number)
        memberships.append(list(mine.values()))
    return memberships


def mistakes_of(family: Family, scene: Scene, examined: Examined, failed: Sequence[int]) -> list[int]:
    """The places of the questions whose confident mistakes belong to failed units of a family.

    What two objects that exchange a value explain belongs to both of them.
    """
    if family.symptom.level == "question":
        return [mistake.at for mistake in examined.mistakes if mistake.at in failed]
    readings = {k for unit in failed for k in _readings(family, examined, unit)}
    readings |= {
        other
        for k in readings
        for other in (k - 1, k + 1)
        if _are_exchanged(scene, examined.misread, k, other)
    }
    return [mistake.at for mistake in examined.mistakes if mistake.by in readings]


def _readings(family: Family, examined: Examined, unit: int) -> list[int]:
    """The places of the misreadings of a unit that are as the family's sentence says."""
    failures = enumerate(map(misread, examined.misread))
    return [
        k for k, failure in failures if failure.unit == unit and family.covers(failure.symptom, failure.value)
    ]


def _are_exchanged(scene: Scene, rows: Sequence[Misreading], number: int, other: int) -> bool:
    """Whether these neighboring misreadings are two objects of which each is seen with the other's value."""
    if not 0 <= other < len(rows):
        return False
    first, second = rows[number], rows[other]
    if first.kind != second.kind or first.kind not in ATTRIBUTES or None in (first.index, second.index):
        return False
    true = [getattr(scene.objects[row.index or 0], row.kind) for row in (first, second)]
    return first.index != second.index and [first.value, second.value] == true[::-1]


@dataclass(frozen=True)
class Membership:
    """What makes a scene's mistakes those of a family, for comparison with other answers."""

    family: Family
    examined: Examined
    vocabulary: Vocabulary

    def is_failure(self, scene: Scene, mistake: Mistake, question: SceneQuestion, text: str) -> bool:
        """Whether an answer to a mistaken question is wrong as the family's sentence says, `scene` being shown.

        About a misread scene it must be true of the scene as the sentence has the model see it, unless the question has
        no answer then.
        """
        if text == question.answer:
            return False
        if mistake.by is None or self.family.symptom.level == "question":
            return self.family.covers(Symptom("question", wrong_words(question.answer, text)), text)
        return any(answer in (None, text) for answer in self._answers(scene, mistake.by, question.program))

    def _answers(self, scene: Scene, by: int, program: Program) -> Iterator[str | None]:
        """The answers to be expected of a model that misreads the scene so."""
        rows = self.examined.misread
        rows = rows[: by + 1 + _are_exchanged(scene, rows, by, by + 1)]
        places = range(by, len(rows))
        readings = [_with(rows, k, read) for k in places for read in self._covered(scene, rows[k])]
        yield from answers_if(scene, readings, program, self.vocabulary)

    def is_taken_for(self, scene: Scene, unit: int, texts: Mapping[Program, str]) -> bool:
        """Whether counts (of `counts_of`) tell of an object that it is taken for what the sentence names.

        They do if no other value of it, the true one included, explains more of them.
        """
        (k, *_) = _readings(self.family, self.examined, unit)
        kind = self.examined.misread[k].kind

        def explained(value: str) -> int:
            read = replace(self.examined.misread[k], value=value)
            rows = _with(self.examined.misread, k, read)
            return sum(answer_if(scene, rows, program) == answer for program, answer in texts.items())

        others = [explained(value) for value in self.vocabulary.values(kind)]
        return explained(self.family.value) >= max(others)

    def _covered(self, scene: Scene, read: Misreading) -> Iterator[Misreading]:
        """This misreading, and those of the same kind that the sentence holds for too."""
        yield read
        if read.kind == PHANTOM:
            symptom, named = self.family.symptom, self.family.value
            every = (other for other in phantoms(self.vocabulary) if other != read)
            yield from (other for other in every if is_such(symptom, other.value, named))
        elif read.index is not None and read.kind in ATTRIBUTES and not self.family.value:
            known = (getattr(scene.objects[read.index], read.kind), read.value)
            for value in self.vocabulary.values(read.kind):
                if value not in known:
                    yield replace(read, value=value)


def _with(rows: Sequence[Misreading], k: int, read: Misreading) -> tuple[Misreading, ...]:
    return (*rows[:k], read, *rows[k + 1 :])


def counts_of(item: SceneObject, kind: str, vocabulary: Vocabulary) -> list[Program]:
    """Questions that tell which value an object is taken to have: how many things of each are there?

    And how many of each that share another attribute with the object.
    """
    others = [(name, getattr(item, name)) for name in ATTRIBUTES if name != kind]
    rows = [
        [(kind, value), *more] for value in vocabulary.values(kind) for more in ([], *([o] for o in others))
    ]
    return [counting(row) for row in rows]


def responsible_words(family: Family, scene: Scene, examined: Examined, unit: int) -> str:
    """The object responsible and what becomes of it: "the small red metal cube, read as a cylinder"."""
    if family.symptom.level != "object":
        return ""
    read = examined.misread[_readings(family, examined, unit)[0]]
    return f"the {object_words(scene, unit)}, {seen_words(read.kind, read.value)}"
