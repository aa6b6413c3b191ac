"""What a model misreads is traced by asking it; a model that cannot be asked says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.adapters.callable_model import AdaptedModel
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.families import trace as module
from trex.families.trace import SAME_TO_ALL, Traced, trace
from trex.foundation.errors import InputError
from trex.scenes.graph import facts_of
from trex.scenes.misreading import Answered, Misreading, census, counting
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.programs import InvalidProgram, execute
from trex.scenes.scene import Scene, with_attribute
from trex.scenes.vocabulary import CLEVR, Vocabulary

NO_CUBES = CLEVR.revoke("cube")
CUBES = counting([("shape", "cube")])
IMAGE = np.zeros((80, 120, 3), np.float32)
Floats = NDArray[np.float64]


@dataclass
class Sees:
    """A callable model that answers about a scene of its own, whatever the picture shows."""

    scene: Scene
    asked: int = 0

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        self.asked += 1
        try:
            said = execute(question.program, self.scene)
        except InvalidProgram:
            said = "no"
        row = np.full(len(ANSWERS), 0.01 / (len(ANSWERS) - 1))
        row[ANSWERS.index(said)] = 0.99
        return np.repeat(row[None], len(pictures), axis=0)


def drawn() -> tuple[Scene, Scene]:
    """A scene without cubes, and the same with its first cylinder as a cube."""
    scene = ScenePrior(NO_CUBES, n_objects=(5, 5)).sample(np.random.default_rng(2))
    at = next(i for i, item in enumerate(scene.objects) if item.shape == "cylinder")
    items = list(scene.objects)
    items[at] = with_attribute(items[at], "shape", "cube")
    return scene, replace(scene, objects=tuple(items))


def traced(
    answerer: Callable[..., object], vocabulary: Vocabulary = NO_CUBES, asked: Sequence[Answered] = ()
) -> Traced:
    facts = facts_of(drawn()[0], CLEVR)
    return trace(np.random.default_rng(0), AdaptedModel("model", answerer), facts, IMAGE, vocabulary, asked)


def test_a_revoked_shape_is_named_and_explains_the_answer_that_was_known() -> None:
    """No scene holds a cube, but the model sees one; an answer of low probability weighs nothing."""
    scene, seen = drawn()
    at = next(i for i, item in enumerate(scene.objects) if item != seen.objects[i])
    asked = [Answered(CUBES, "1", 0.95), Answered(counting([("size", "large")]), "9", 0.3)]
    found = traced(Sees(seen), asked=asked)
    assert found.misreadings == (Misreading("shape", at, "cube"),)
    assert found.by == (0, None) and found.margins[0] > 10 and found.closed == ""
    assert found.questions > len(census(NO_CUBES)) > 80


def test_the_values_that_scenes_hold_are_not_enough() -> None:
    """The planted bug: a vocabulary of what scenes hold alone."""
    held = replace(CLEVR, shapes=("sphere", "cylinder"))
    assert not any(read.value == "cube" for read in traced(Sees(drawn()[1]), held).misreadings)


def test_a_model_that_is_bound_to_one_question_is_not_traced() -> None:
    """It is asked a few questions, to all of which it gives one answer."""
    row = np.array([[0.2, 0.8]])

    def answerer(pictures: NDArray[np.float32], question: Question) -> Floats:
        return np.repeat(row, len(pictures), axis=0)

    answerer.labels = ("no", "yes")  # type: ignore[attr-defined]
    found = traced(answerer, asked=[Answered(CUBES, "1", 0.95)])
    assert found == Traced(by=(None,), questions=module.FIRST, closed=SAME_TO_ALL)


def test_a_model_that_reads_no_other_question_says_why() -> None:
    def answerer(pictures: NDArray[np.float32], question: Question) -> Floats:
        raise InputError("only cubes")

    found = traced(answerer)
    assert found.misreadings == () and "only cubes" in found.closed and found.questions == 0


def test_questions_that_it_cannot_read_are_left_out() -> None:
    sees = Sees(drawn()[1])

    def answerer(pictures: NDArray[np.float32], question: Question) -> Floats:
        if "purple" in question.text:
            raise InputError("what is purple?")
        return sees(pictures, question)

    found, whole = traced(answerer), traced(sees)
    assert found.misreadings == whole.misreadings and 80 < found.questions < whole.questions
