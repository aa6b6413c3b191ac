"""Bounds on what an audit did not find: exact, per scene, and broken by what was found."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from trex.auditing.judging.not_found import looked_for, no_event_bound
from trex.auditing.sweeping.records import Answer, Examined, Mistake
from trex.families.symptom import Symptom, wrong_kinds, wrong_words
from trex.foundation.errors import InputError
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.families import FAMILIES
from trex.scenes.vocabulary import CLEVR

COUNTS = next(one.index for one in FAMILIES if one.name.endswith("count"))
KIND = FAMILIES[COUNTS].kind
SCENE = ScenePrior(CLEVR, n_objects=(3, 3)).sample(np.random.default_rng(5))
FACTS = Facts(SCENE, (1.0,) * 3, (None,) * 3)


def picture(*truths: str, wrong: dict[int, str] | None = None) -> tuple[Facts, Examined]:
    """A scene with one counting question for each truth; `wrong` is what was said instead, surely."""
    said = [(wrong or {}).get(at, truth) for at, truth in enumerate(truths)]
    answers = tuple(Answer(COUNTS, truth, one, 0.99) for truth, one in zip(truths, said, strict=True))
    mistakes = tuple(Mistake(at, None) for at in (wrong or {}))
    return FACTS, Examined(0, answers, mistakes, (), FACTS.shares, FACTS.hiders)


def absent(rows: list[tuple[Facts, Examined]]) -> dict[str, int]:
    return {one.what: one.scenes for one in looked_for(rows).absent}


def test_a_rate_at_the_bound_goes_unseen_with_a_chance_of_five_percent() -> None:
    for n in (1, 10, 1000):
        assert (1 - no_event_bound(n)) ** n == pytest.approx(0.05)
        assert (1 - no_event_bound(n, kinds=40)) ** n * 40 == pytest.approx(0.05)


def test_scenes_count_and_questions_do_not() -> None:
    """The planted bug would divide by 20 × 30 questions that stand and fall together."""
    rows = [picture(*["2"] * 30) for _ in range(20)]
    few = next(one for one in looked_for(rows).absent if one.what == f"{KIND}: too few")
    assert few.scenes == 20 and few.bound == no_event_bound(20)
    assert few.bound > 10 * no_event_bound(600)
    assert few.together > few.bound


def test_only_scenes_that_allow_a_mistake_count() -> None:
    rows = absent([picture("0"), picture("10"), picture("3")])
    assert (rows[f"{KIND}: too few"], rows[f"{KIND}: too many"], rows[f"{KIND}: no number"]) == (2, 2, 3)


def test_what_one_scene_shows_is_not_told_as_absent() -> None:
    rows = [picture("2") for _ in range(9)]
    assert f"{KIND}: too few" in absent(rows)
    assert f"{KIND}: too few" not in absent([*rows, picture("2", wrong={0: "1"})])
    assert f"{KIND}: too many" in absent([*rows, picture("2", wrong={0: "1"})])


def test_a_traced_misreading_is_not_told_as_absent() -> None:
    facts, one = picture("2", wrong={0: "1"})
    read = replace(one, misread=(Misreading("missed", 1), Misreading("mirrored", None, "left and right")))
    seen = absent([(facts, read)])
    assert "An object is missed" not in seen and "Left and right are confused" not in seen
    assert "An object is counted twice" in seen and "Front and behind are confused" in seen


def test_the_bounds_of_random_audits_hold_as_often_as_they_say() -> None:
    """A kind with a rate just above the bound of 60 scenes: told as absent in about 5% of 4,000 audits, never more."""
    rng, n, audits = np.random.default_rng(17), 60, 4000
    rate = no_event_bound(n) + 1e-9
    unseen = sum(not (rng.random(n) < rate).any() for _ in range(audits))
    assert unseen <= audits * 0.05 + 4.3 * math.sqrt(audits * 0.05 * 0.95)  # 1e-5


def test_without_a_scene_there_is_no_bound() -> None:
    with pytest.raises(InputError, match="0 scenes"):
        no_event_bound(0)
    assert looked_for([]).absent == ()


def test_who_can_fail_depends_on_the_true_answer_of_questions_alone() -> None:
    truths = ["0", "1", "10", "yes", "no", "red"]
    assert Symptom("question", "too few").can_show(6, truths).tolist() == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    assert Symptom("question", "too many").can_show(6, truths).tolist() == [True, True, *[False] * 4]
    assert Symptom("question", "no for yes").can_show(6, truths).tolist() == [
        *[False] * 3,
        True,
        False,
        False,
    ]
    assert Symptom("object", "missed").can_show(3, truths).tolist() == [True] * 3


def test_every_wrong_answer_is_of_a_kind_that_its_question_allows() -> None:
    answers = ["yes", "no", "red", "cube", *map(str, range(11))]
    for truth, said in product(answers, answers):
        if truth != said:
            assert wrong_words(truth, said) in wrong_kinds(truth)
