"""A model that says "Yes", "2.0" or "Cube" gives CLEVR's answers; each page and command judges it by the same rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.references.scene_strategies import random_scene
from trex.auditing.examine import Asker
from trex.clevr_models.adapters.callable_model import AdaptedModel
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.explain.compared import compared, distance_from_right, is_right
from trex.foundation.errors import InputError
from trex.scenes.questions.families import FAMILIES, SceneQuestion
from trex.scenes.questions.programs import Step
from trex.scenes.questions.wrong_answer import WrongAnswer
from trex.scenes.scene import with_attribute
from trex.scenes.vocabulary import CLEVR
from trex.trials.confirmation import Confirmed, Look

IS_THERE_A_CUBE = (Step("scene"), Step("filter_shape", (0,), ("cube",)), Step("exist", (1,)))


@pytest.mark.parametrize(("text", "truth"), [("Yes", "yes"), ("2.0", "2"), ("Cube", "cube")])
def test_a_right_answer_is_no_failure_to_explain(text: str, truth: str) -> None:
    """Planted: the letters compared. The page called the hit right, and its explanation a mistake."""
    assert compared(text, truth) == "answer" and is_right(text, truth)
    assert compared("other", truth) == "truth" and not is_right("other", truth)
    log_probs = np.log([0.8, 0.2])
    assert distance_from_right(log_probs, (text, "other"), truth) == pytest.approx(np.log(0.2 / 0.8))


def test_a_hit_that_is_right_is_not_confirmed_as_wrong() -> None:
    look = Look("0" * 32, "Yes", 0.9, True, (0.0,))
    confirmed = Confirmed("yes", look, look)
    assert not confirmed.was_wrong and not confirmed.is_wrong
    assert replace(confirmed, truth="no").is_wrong


def test_a_search_for_wrong_answers_leaves_out_where_the_answer_is_right() -> None:
    any_one = random_scene(np.random.default_rng(1), 1)
    scene = replace(any_one, objects=(with_attribute(any_one.objects[0], "shape", "cube"),))
    assert not WrongAnswer(IS_THERE_A_CUBE, ("Yes",)).is_wrong(scene)
    assert WrongAnswer(IS_THERE_A_CUBE, ("No",)).is_wrong(scene)


@dataclass
class Says:
    """Sure of one label, whatever it is asked."""

    labels: tuple[str, ...]

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        return np.tile(np.eye(len(self.labels))[0], (len(pictures), 1))


def test_an_audit_says_how_to_name_an_answer_that_it_would_count_as_wrong() -> None:
    """Planted: every right answer was a confident mistake."""
    image = np.zeros((80, 120, 3), np.float32)
    question = SceneQuestion(FAMILIES[0], IS_THERE_A_CUBE, "yes")
    texts = tuple(answer for answer in ANSWERS if answer != "yes")
    asker = Asker(AdaptedModel("mine", Says(("Yes", *texts)), "mine"), CLEVR, 1, 0, 0.9)
    with pytest.raises(
        InputError, match=r"model 'mine' names an answer 'Yes', .* name it 'yes', as CLEVR does"
    ):
        asker.ask(image, [question])
    followed = replace(asker, model=AdaptedModel("mine", Says(("yes", *texts)), "mine"))
    assert [item.answer for item in followed.ask(image, [question])] == ["yes"]
    other = replace(asker, model=AdaptedModel("mine", Says(("Maybe", *texts)), "mine"))
    assert [item.answer for item in other.ask(image, [question])] == ["Maybe"]
