"""Symptoms: the ways in which a model fails in a scene, and which objects, scenes and questions can show each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.foundation.words import with_article
from trex.scenes.conditions import Bools, Level
from trex.scenes.misreading import ATTRIBUTE_KINDS, MIRRORS, Kind, Misreading
from trex.scenes.prior import MAX_OBJECTS
from trex.scenes.questions.programs import YES_NO
from trex.scenes.scene import ATTRIBUTES, Scene, object_words

OTHER, NO_WORD, NO_NUMBER = "another value", "neither yes nor no", "no number"
WRONG = ("too few", "too many", "no for yes", "yes for no", OTHER, NO_WORD, NO_NUMBER)
PHANTOM = "phantom"
THING = "object"  # a phantom of no one shape: "red object"
OF_OBJECTS: tuple[Kind, ...] = ("missed", "doubled", *ATTRIBUTE_KINDS)
SYMPTOMS = ("missed", "doubled", PHANTOM, *ATTRIBUTE_KINDS, *MIRRORS, *WRONG)


@dataclass(frozen=True)
class Symptom:
    """How a model fails: an object is misread or a phantom, directions are mirrored, an answer is wrong."""

    level: Level
    what: str

    def can_show(
        self, units: int, truths: Sequence[str], scene: Scene | None = None, value: str = ""
    ) -> Bools:
        """(units,): which units of a scene can show it; `truths` are the true answers if the units are questions.

        No answer to "Is there a cube?" counts too few, and no cube is taken for a cube (`value`, if one is named).
        Rates under a rule's conditions and elsewhere are therefore of units that allow the mistake; otherwise a rule
        that only says which those are would stand out.
        """
        if self.level == "question":
            return np.array([self.what in wrong_kinds(truth) for truth in truths], dtype=np.bool_)
        if scene is None or not value or self.what not in ATTRIBUTES:
            return np.ones(units, dtype=np.bool_)
        return np.array([getattr(item, self.what) != value for item in scene.objects], dtype=np.bool_)


SOUGHT = Symptom("scene", "")  # the model gives the answer that a search is for
# Without the object the model is right, or gives another answer: which is known if it is not known what it misreads.
RESPONSIBLE, DECIDES = Symptom("object", "responsible"), Symptom("object", "decides")
# In a world of named values: the model is wrong, gives the answer that a search is for, or meets its target otherwise.
MISTAKEN, ANSWERED, REACHED = (
    Symptom("scene", "wrong"),
    Symptom("scene", "answer"),
    Symptom("scene", "target"),
)
OF_VALUES = (MISTAKEN, ANSWERED, REACHED)


@dataclass(frozen=True)
class Failure:
    """A unit of a scene (an object, the scene, a question, by number) that shows a symptom.

    `truth` is the true answer if it is a question; `value` what the unit was taken for, or answered with.
    """

    symptom: Symptom
    unit: int
    truth: str
    value: str


def is_such(symptom: Symptom, value: str, named: str) -> bool:
    """Whether what a unit was taken for is what a sentence names: "" is anything, "metal cube" any metal cube."""
    if symptom.what == PHANTOM:
        return set(named.split()) <= {*value.split(), THING}
    return named in ("", value)


def misread(misreading: Misreading) -> Failure:
    """The failure that a misreading is."""
    if misreading.index is None:
        what = PHANTOM if misreading.kind == PHANTOM else misreading.value
        return Failure(Symptom("scene", what), 0, "", misreading.value)
    return Failure(Symptom("object", misreading.kind), misreading.index, "", misreading.value)


def misreading_of(symptom: Symptom, unit: int, value: str) -> Misreading | None:
    """The misreading that `misread` makes such a failure of; None if the symptom is of another kind."""
    if symptom.level == "scene" and symptom.what == PHANTOM:
        return Misreading("phantom", None, value)
    if symptom.level == "scene" and symptom.what in MIRRORS:
        return Misreading("mirrored", None, symptom.what)
    kind = next((each for each in OF_OBJECTS if each == symptom.what), None)
    return Misreading(kind, unit, value) if kind and symptom.level == "object" else None


def misread_words(failure: Failure, scene: Scene) -> str:
    """What the model does, about one scene: "the small green rubber cylinder is read as a cube"."""
    what, value = failure.symptom.what, failure.value
    if failure.symptom.level == "scene":
        return (
            f"{with_article(value)} that is not there is seen" if what == PHANTOM else f"{what} are confused"
        )
    return f"the {object_words(scene, failure.unit)} is {seen_words(what, value)}"


def seen_words(what: str, value: str = "") -> str:
    """What becomes of an object: "missed", "counted twice", "read as a cube", "seen as red"."""
    known = {"missed": "missed", "doubled": "counted twice", "shape": f"read as {with_article(value)}"}
    return known.get(what, f"seen as {value}")


def answered(unit: int, truth: str, answer: str) -> Failure:
    """The failure that a wrong answer to question `unit` is."""
    return Failure(Symptom("question", wrong_words(truth, answer)), unit, truth, answer)


def wrong_words(truth: str, answer: str) -> str:
    """The kind of a wrong answer."""
    if truth.isdecimal() and answer.isdecimal():
        return "too few" if int(answer) < int(truth) else "too many"
    if {truth, answer} == set(YES_NO):
        return f"{answer} for {truth}"
    if truth in YES_NO:
        return NO_WORD
    return NO_NUMBER if truth.isdecimal() else OTHER


def wrong_kinds(truth: str) -> tuple[str, ...]:
    """The kinds of wrong answers to a question with this true answer."""
    if truth in YES_NO:
        answer = next(word for word in YES_NO if word != truth)
        return (f"{answer} for {truth}", NO_WORD)
    if not truth.isdecimal():
        return (OTHER,)
    few, many = int(truth) > 0, int(truth) < MAX_OBJECTS
    return (*(("too few",) if few else ()), *(("too many",) if many else ()), NO_NUMBER)
