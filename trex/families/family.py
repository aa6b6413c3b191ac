"""A family: the pattern that failures share, how the model fails there, its members, its rate and its sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from trex.families.pattern import Pattern, object_words
from trex.families.symptom import NO_NUMBER, NO_WORD, OTHER, PHANTOM, SOUGHT, Symptom
from trex.foundation.words import capitalized, with_article
from trex.inference.statistics.proportion import Proportion
from trex.scenes.conditions import (
    Asked,
    Bools,
    Condition,
    Level,
    object_rows,
    part_words,
    question_rows,
    scene_row,
)
from trex.scenes.graph import Facts, facts_of, scene_graph
from trex.scenes.misreading import ATTRIBUTE_KINDS
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Noun

NAMING = (*ATTRIBUTE_KINDS, PHANTOM, "too few", "too many")  # symptoms whose sentence may name one value
CLEAR = 0.8  # share of a family's failures from which on the most frequent value stands for all
SCENES = Noun("scene", "scenes")
SAYS_MISSED, SAYS_DOUBLED, SAYS_PHANTOM = "is missed", "is counted twice", "is seen that is not there"


@dataclass(frozen=True)
class Family:
    """Failures with a common pattern; `members` are their places among the hits, most confident first.

    In an audit's family `became` counts, for a misread attribute, (what it was, what it was taken for),
    and for a kind of wrong answer (the truth, the answer); `may_name` is False if other scenes did not show the value
    that stands out among these. A search's family is explained if its pattern describes the objects responsible; if
    not, the pattern has the objects that all its scenes hold. `rate` is how often a prior scene belongs to the family,
    None if no prior scene that the rate counts does.
    """

    pattern: Pattern
    symptom: Symptom = SOUGHT
    became: tuple[tuple[str, str, int], ...] = ()
    may_name: bool = True
    number: int = 0
    members: tuple[int, ...] = ()
    rate: Proportion | None = None
    is_explained: bool = False
    noun: Noun = SCENES

    @property
    def words(self) -> str:
        """What the failures share; of an audit's family a sentence: "A small object at the back is missed."."""
        if self.symptom != SOUGHT:
            return _sentence(self)
        if self.is_explained:
            return self.pattern.words
        if len(self.members) == 1:
            return f"one {self.noun.one} by itself, not explained"
        if not self.pattern.objects:
            return f"{self.noun.many} close to each other"
        return f"{self.noun.many} around {' and '.join(map(object_words, self.pattern.objects))}"

    @property
    def is_alone(self) -> bool:
        """Whether it is one scene whose objects responsible are not known: that may be a family or not."""
        return self.size == 1 and not self.is_explained

    @property
    def representative(self) -> int:
        """The place of the most confident member."""
        return self.members[0]

    @property
    def size(self) -> int:
        """The number of distinct hits."""
        return len(self.members)

    @property
    def how_often(self) -> str:
        """The rate in words: "1.2% (95%: 0.4% to 3.1%)"; a dash if no prior scene belongs to the family."""
        if self.rate is None:
            return "—"
        if self.rate.point is None:
            return f"{self.rate.range} (95%)"
        return f"{self.rate.figure} (95%: {self.rate.range})"

    @cached_property
    def value(self) -> str:
        """What the sentence says that a unit is taken for, or answered with; "" if it names no one value."""
        if not self.may_name or self.symptom.what not in NAMING:
            return ""
        return clear_value(value for _, value, n in self.became for _ in range(n))

    @property
    def wider(self) -> Family:
        """The family of all failures of its kind under its conditions, whatever a unit is taken for."""
        return replace(self, may_name=False)

    def covers(self, symptom: Symptom, value: str) -> bool:
        """Whether a unit with this symptom, taken for or answered with `value`, fails as the whole sentence says."""
        return symptom == self.symptom and self.value in ("", value)

    def holds(self, facts: Facts, questions: Sequence[Asked] = ()) -> Bools:
        """(units,): for which units of a scene that can fail so the conditions hold; `questions` if units are.

        A scene is the unit of a search's family.
        """
        if self.symptom == SOUGHT:
            return np.array([next(self.pattern.matches(scene_graph(facts)), None) is not None])
        table = rows(self.symptom.level, self.pattern.conditions, facts, questions)
        can_show = self.symptom.can_show(len(table), [question.truth for question in questions])
        found: Bools = table.all(axis=1) & can_show
        return found


def rows(level: Level, conditions: Sequence[Condition], facts: Facts, questions: Sequence[Asked]) -> Bools:
    """(units, conditions): which conditions hold for the units of a scene: its objects, itself, or questions."""
    if level == "object":
        return object_rows(facts, conditions)
    return scene_row(facts, conditions) if level == "scene" else question_rows(facts, questions, conditions)


def fresh_members(
    family: Family,
    scenes: Iterable[Scene],
    vocabulary: Vocabulary,
    questions: Callable[[Scene], Sequence[Asked]] = lambda scene: (),
    unit: int | None = None,
) -> Iterator[Facts]:
    """Those of the scenes, such as draws of the prior, in which the family's conditions hold for a unit, or for this.

    `questions` gives the questions about a scene, for families of wrong answers.
    """
    for scene in scenes:
        facts = facts_of(scene, vocabulary)
        holds = family.holds(facts, questions(scene) if family.symptom.level == "question" else ())
        if holds.any() if unit is None else holds[unit]:
            yield facts


def clear_value(values: Iterable[str]) -> str:
    """The value of at least CLEAR of all, "" if there is none."""
    counts = Counter(values)
    best = max(sorted(counts), key=lambda value: counts[value], default="")
    return best if counts and counts[best] >= CLEAR * counts.total() else ""


def _sentence(family: Family) -> str:
    """A sentence that can be checked: "A metal cylinder less than 60% visible is taken for a cube."."""
    symptom = family.symptom
    if symptom.level == "question":
        subject = _wrong_answer(family)
    elif symptom.what == PHANTOM:
        subject = f"{with_article(family.value or 'object')} {SAYS_PHANTOM}"
    elif symptom.level == "scene":
        subject = f"{symptom.what} are confused"
    else:
        (conditions,) = family.pattern.objects or ((),)
        subject = f"{object_words(conditions)} {_misread(symptom, family.value)}"
    return f"{capitalized(' '.join([subject, *part_words(family.pattern.around, 'scene')]))}."


def _misread(symptom: Symptom, value: str) -> str:
    """What an object is taken for."""
    if symptom.what in ("missed", "doubled"):
        return SAYS_MISSED if symptom.what == "missed" else SAYS_DOUBLED
    if symptom.what == "shape":
        return f"is taken for {with_article(value) if value else 'another shape'}"
    return f"is seen as {value}" if value else f"is seen in another {symptom.what}"


def _wrong_answer(family: Family) -> str:
    symptom = family.symptom
    if symptom.what in ("too few", "too many"):
        kind = f"counts {symptom.what}"
    elif symptom.what == OTHER:
        kind = "gives a wrong answer"
    elif symptom.what in (NO_WORD, NO_NUMBER):
        kind = "says neither “yes” nor “no”" if symptom.what == NO_WORD else "gives no number"
    else:
        answer, _, truth = symptom.what.partition(" for ")
        kind = f"says “{answer}” for “{truth}”"
    example = f" ({family.value})" if family.value else ""
    questions = ", ".join(each.words for each in family.pattern.around if each.part == "question")
    return f"the model {kind}{example}" + (f" in questions {questions}" if questions else "")
