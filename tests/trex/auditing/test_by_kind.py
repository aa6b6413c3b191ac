"""What is said of kinds of questions and mistakes: which stand out, and the bound on those that no scene shows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from trex.auditing import by_kind as module
from trex.auditing.by_kind import by_question, looked_for, no_event_bound, not_found_words
from trex.auditing.records import Answer, Examined, Mistake
from trex.families.discover import Situation, conditions_of, discover
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom, answered, wrong_kinds, wrong_words
from trex.foundation.errors import InputError
from trex.foundation.words import percent_span
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.discoveries import excess_p_value
from trex.inference.statistics.proportion import Proportion
from trex.scenes.conditions import Asked
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.questions.families import FAMILIES
from trex.scenes.vocabulary import CLEVR

COUNTS = next(family.index for family in FAMILIES if family.name.endswith("count"))
KIND = FAMILIES[COUNTS].kind
OTHER = next(family.index for family in FAMILIES if family.kind != KIND)
SCENE = ScenePrior(CLEVR, n_objects=(3, 3)).sample(np.random.default_rng(5))
FACTS = Facts(SCENE, (1.0,) * 3, (None,) * 3, ((),) * 3)


def counts(share: Proportion) -> tuple[int, int]:
    return share.count, share.of


def picture(*truths: str, wrong: dict[int, str] | None = None) -> tuple[Facts, Examined]:
    """A scene with one counting question for each truth; `wrong` is what was said instead, surely."""
    texts = [(wrong or {}).get(at, truth) for at, truth in enumerate(truths)]
    answers = tuple(Answer(COUNTS, truth, text, 0.99) for truth, text in zip(truths, texts, strict=True))
    mistakes = tuple(Mistake(at, None) for at in (wrong or {}))
    return FACTS, Examined(0, answers, mistakes, (), FACTS.shares, FACTS.hiders)


def absent(rows: list[tuple[Facts, Examined]]) -> dict[str, int]:
    return {not_found.what: not_found.scenes for not_found in looked_for(rows).absent}


def test_a_rate_at_the_bound_goes_unseen_with_a_chance_of_five_percent() -> None:
    for n in (1, 10, 1000):
        assert (1 - no_event_bound(n)) ** n == pytest.approx(0.05)
        assert (1 - no_event_bound(n, kinds=40)) ** n * 40 == pytest.approx(0.05)


def test_scenes_count_and_questions_do_not() -> None:
    """The planted bug would divide by 20 × 30 questions that stand and fall together."""
    rows = [picture(*["2"] * 30) for _ in range(20)]
    few = next(not_found for not_found in looked_for(rows).absent if not_found.what == f"{KIND}: too few")
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
    facts, examined = picture("2", wrong={0: "1"})
    read = replace(
        examined, misread=(Misreading("missed", 1), Misreading("mirrored", None, "left and right"))
    )
    seen = absent([(facts, read)])
    assert "An object is missed" not in seen and "Left and right are confused" not in seen
    assert "An object is counted twice" in seen and "Front and behind are confused" in seen


def test_the_bounds_of_random_audits_hold_as_often_as_they_say() -> None:
    """A kind with a rate just above the bound of 60 scenes: told as absent in about 5% of 4,000 audits, never more."""
    rng, n, audits = np.random.default_rng(17), 60, 4000
    rate = no_event_bound(n) + 1e-9
    unseen = sum(not (rng.random(n) < rate).any() for _ in range(audits))
    assert unseen <= audits * 0.05 + 4.3 * math.sqrt(audits * 0.05 * 0.95)  # 1e-5


def test_the_sentence_tells_bounds_that_hold_together() -> None:
    """Planted bug: each bound alone, of which some fails in far more than 5% of audits where kinds are many."""
    found = looked_for([picture("2") for _ in range(9)])
    bounds = [each.together for each in found.absent]
    assert len(bounds) > 3 and min(bounds) > max(each.bound for each in found.absent)
    assert f"together at 95%: {percent_span(min(bounds), max(bounds))} of" in not_found_words(found)


def test_what_a_rare_family_shows_is_not_called_not_found() -> None:
    """Planted bug: beside a family that scenes sought for it show, its kind of mistake was said to occur in none."""
    rows, (_, sought) = [picture("2") for _ in range(9)], picture("2", wrong={0: "1"})
    with_sought = {each.what: each.scenes for each in looked_for(rows, [sought]).absent}
    assert {**with_sought, f"{KIND}: too few": 9} == absent(rows) != with_sought


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


def test_no_object_is_taken_for_what_it_is() -> None:
    """Planted bug: cubes were counted among the objects that might be read as cubes, so that shares were too low."""
    shapes = [item.shape for item in SCENE.objects]
    shape = Symptom("object", "shape")
    assert shape.can_show(3, (), SCENE, shapes[0]).tolist() == [each != shapes[0] for each in shapes]
    assert shape.can_show(3, (), SCENE).tolist() == [True] * 3
    assert Symptom("object", "missed").can_show(3, (), SCENE, "missed").tolist() == [True] * 3
    family = Family(Pattern.of(()), shape, ((shapes[1], shapes[0], 5),))
    assert family.holds(FACTS).tolist() == [each != shapes[0] for each in shapes]
    assert family.wider.holds(FACTS).tolist() == [True] * 3


def test_every_wrong_answer_is_of_a_kind_that_its_question_allows() -> None:
    answers = ["yes", "no", "red", "cube", *map(str, range(11))]
    for truth, text in product(answers, answers):
        if truth != text:
            assert wrong_words(truth, text) in wrong_kinds(truth)


def rows() -> list[Examined]:
    """In 30 pictures two counts, both confidently wrong in every second one, and two other answers, all right."""
    counts = [
        (Answer(COUNTS, "2", "1", 0.97) if k % 2 else Answer(COUNTS, "2", "2", 0.97)) for k in range(30)
    ]
    right = Answer(OTHER, "red", "red", 0.57)
    mistakes = (Mistake(0, None), Mistake(1, None))
    return [
        Examined(k, (count, count, right, right), mistakes if k % 2 else (), (), (), ())
        for k, count in enumerate(counts)
    ]


def test_a_kind_whose_mistakes_are_more_frequent_stands_out_and_no_other() -> None:
    table = {row.what: row for row in by_question(rows())}
    every, count = table["all questions"], table[f"kind: {FAMILIES[COUNTS].kind}"]
    other = table[f"kind: {FAMILIES[OTHER].kind}"]
    assert (counts(every.right), counts(every.mistakes)) == ((90, 120), (30, 120))
    assert every.confidence == pytest.approx(0.77) and count.confidence == pytest.approx(0.97)
    assert (counts(count.right), counts(count.mistakes), count.stands_out) == ((30, 60), (30, 60), True)
    assert (counts(other.right), counts(other.mistakes), other.stands_out) == ((60, 60), (0, 60), False)
    assert count.mistakes.interval == clustered_interval([0, 2] * 15, [2] * 30)
    assert next(row.what for row in by_question(rows())) == "all questions"


def test_a_kind_is_compared_with_the_other_questions_alone() -> None:
    """Planted: compared with all questions, its own mistakes among them."""
    wrong, right = (Answer(COUNTS, "2", "1", 0.9), True), (Answer(OTHER, "red", "red", 0.9), False)
    p_value = module._p_value({k: [wrong] for k in range(6)}, {k: [wrong, right] for k in range(6)})
    assert p_value == pytest.approx(excess_p_value(6.0, 6, (1.0, 6.0)))


def test_an_answer_that_no_scene_allows_is_no_event_of_another_question() -> None:
    """A scene has ten objects at most: "11" for 10 is no "too many" of those that are counted. Planted bug: the
    question before or after it was taken for the one that failed, or none was there."""
    program = parse("How many things are there?")
    asked = [Asked(program, "3"), Asked(program, "10")]
    failures = [answered(1, "10", "11"), answered(0, "3", "4")]
    known = [Situation(FACTS, failures, conditions_of(CLEVR), ["3", "10"], lambda: asked)] * 8
    discover(known, CLEVR)
    alone = [Situation(FACTS, failures[:1], conditions_of(CLEVR), ["3", "10"], lambda: asked)] * 8
    assert discover(alone, CLEVR) == []
