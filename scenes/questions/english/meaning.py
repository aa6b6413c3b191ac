"""English questions read as programs, with their steps in the order of CLEVR's own programs."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.scenes.questions.english.forms import question
from trex.scenes.questions.english.lexicon import EXAMPLES
from trex.scenes.questions.english.sentence import Sentence, normalize
from trex.scenes.questions.english.tree import Beside, Both, Compare, Either, Place, Question, Sharing, Things
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.questions.programs import Program, Step, check_program
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR, Vocabulary

# Without relations CLEVR's templates query these two after both things are found (comparison.json).
_QUERIED_LATE = ("size", "color")
_SHAPE_ALONE = tuple(name == "shape" for name in FILTER_ORDER)


def program_of(question: Question) -> Program:
    """The program; the order of steps is that of CLEVR's templates (clevr-dataset-gen, CLEVR_1.0_templates)."""
    steps = _Steps()
    if isinstance(question, Compare):
        steps.compare(question)
    else:
        steps.value(question.asked, question.things)
    return tuple(steps.steps)


class _Steps:
    """The steps so far; each method adds some and returns the index of the last."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def value(self, text: str, things: Things) -> int:
        """The count or existence of things, or an attribute of the only one."""
        if text in ATTRIBUTES:
            return self._add(f"query_{text}", self._one(things))
        return self._add(text, self._things(things))

    def compare(self, question: Compare) -> int:
        """Two values and their comparison."""
        sides = (question.first, question.second)
        attribute = question.function.removeprefix("equal_")
        if attribute in _QUERIED_LATE and not any(side.where for side in sides):
            ones = [self._one(side) for side in sides]
            values = [self._add(f"query_{attribute}", number) for number in ones]
        else:
            text = attribute if attribute in ATTRIBUTES else "count"
            values = [self.value(text, side) for side in sides]
        return self._add(question.function, *values)

    def _add(self, function: str, *inputs: int, word: str = "") -> int:
        self.steps.append(Step(function, inputs, (word,) if word else ()))
        return len(self.steps) - 1

    def _one(self, things: Things) -> int:
        return self._add("unique", self._things(things))

    def _things(self, things: Things) -> int:
        where = things.where
        if isinstance(where, Either):
            return self._filter(self._either(where, things.said), things.said)
        return self._filter(self._add("scene") if where is None else self._place(where), things.said)

    def _filter(self, at: int, texts: Description) -> int:
        for attribute, word in zip(FILTER_ORDER, texts, strict=True):
            if word is not None:
                at = self._add(f"filter_{attribute}", at, word=word)
        return at

    def _place(self, place: Place) -> int:
        match place:
            case Beside(relation, anchor):
                return self._add("relate", self._one(anchor), word=relation)
            case Sharing(attribute, anchor):
                return self._add(f"same_{attribute}", self._one(anchor))
            case Both(
                first, second
            ):  # CLEVR's templates begin with the place that is said last (single_and.json)
                later = self._place(second)
                return self._add("intersect", later, self._place(first))

    def _either(self, where: Either, texts: Description) -> int:
        """The union of two sets; CLEVR's template for "spheres that are either ..." begins with both scenes."""
        sides = (where.first, where.second)
        names_shape_alone = tuple(word is not None for word in texts) == _SHAPE_ALONE
        if names_shape_alone and not any(side.where for side in sides):
            scenes = [self._add("scene") for _ in sides]
            found = [self._filter(at, side.said) for at, side in zip(scenes, sides, strict=True)]
        else:
            found = [self._things(side) for side in sides]
        return self._add("union", *found)


MAX_LENGTH = 1000


def parse(text: str, vocabulary: Vocabulary = CLEVR) -> Program:
    """The program of an English question; InputError names the words that are not understood."""
    if len(text) > MAX_LENGTH:
        raise InputError(f"the question is longer than {MAX_LENGTH} characters: it has {len(text)}")
    if not normalize(text):
        raise InputError(f"the question is empty; write e.g. {EXAMPLES}")
    program = program_of(question(Sentence(text, vocabulary)))
    check_program(program)
    return program
