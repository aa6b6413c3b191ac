"""What a run's one question is about is not told as if it were when the model fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from trex.explain.run_families import Showing, _judged_families, showing_of
from trex.families.cases import Case
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family
from trex.families.one_question import OneQuestion
from trex.families.symptom import (
    PHANTOM,
    RESPONSIBLE,
    Failure,
    Symptom,
    misread,
    misreading_of,
)
from trex.inference.statistics.two_phase import Selection
from trex.scenes.graph import Facts, facts_of
from trex.scenes.misreading import Misreading, answer_if, counting
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.programs import Program, Step
from trex.scenes.questions.variants import Ints
from trex.scenes.vocabulary import CLEVR

MISSED, COLOR = Symptom("object", "missed"), Symptom("object", "color")
REDS = counting([("color", "red")])
LEFT_OF_RED: Program = (
    Step("scene"), Step("filter_color", (0,), ("red",)), Step("unique", (1,)), Step("relate", (2,), ("left",)),
    Step("count", (3,)),
)  # fmt: skip
SIZE, RATE = 900, 0.3  # prior scenes, and how often each object is misread


@cache
def scenes() -> tuple[Situation, ...]:
    rng, prior = np.random.default_rng(31_770), ScenePrior(CLEVR, (5, 5))
    made = (facts_of(prior.sample(rng), CLEVR) for _ in range(SIZE))
    return tuple(Situation(facts, (), CONDITIONS) for facts in made)


CONDITIONS = conditions_of(CLEVR)


@cache
def readings(symptom: Symptom, value: str, only: str) -> tuple[tuple[int, ...], ...]:
    """For each scene the objects that a model misreads, each that meets a condition with the same probability."""
    rng = np.random.default_rng(8)
    met = [condition for condition in CONDITIONS["object"] if condition.key == only]
    rate = 0.9 if only else RATE
    able = [each.can_show(symptom, value) & each.meets("object", met) for each in scenes()]
    return tuple(tuple(np.flatnonzero(each & (rng.random(len(each)) < rate)).tolist()) for each in able)


def outcome(
    facts: Facts, units: Sequence[int], symptom: Symptom, value: str, program: Program
) -> tuple[str | None, str | None]:
    reading = [made for unit in units if (made := misreading_of(symptom, unit, value))]
    return answer_if(facts.scene, [], program), answer_if(facts.scene, reading, program)


def families(
    seed: int,
    symptom: Symptom,
    value: str,
    program: Program,
    sought: str,
    *,
    is_bug: bool = False,
    only: str = "",
) -> list[Family]:
    """The families of a search's hits, of a model that misreads alike all objects that meet `only`; of all without."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(SIZE)
    cases, known = list[Case](), dict[int, Situation]()
    for place in order[:600].tolist():
        situation, units = scenes()[place], readings(symptom, value, only)[place]
        truth, said = outcome(situation.facts, units, symptom, value, program)
        if truth is None or said is None or truth == said:
            continue
        changing = [
            unit for unit in units
            if outcome(situation.facts, [unit], symptom, value, program)[1] not in (truth, None)
        ]  # fmt: skip
        failure = Failure(symptom, int(rng.choice(changing or list(units))), "", value)
        if said == sought and len(cases) < 20:
            cases.append(Case(situation, failure, place, len(cases)))
        elif said != sought:
            failed = Situation(situation.facts, (failure,), CONDITIONS)
            failed._tables = situation._tables
            known[len(known)] = failed
    assert len(cases) >= 8 and known
    made, judges = ({k: v for k, v in known.items() if k % 2 == half} for half in (0, 1))
    selection = Selection(np.arange(600), np.full(600, 0.5))
    cohort = [scenes()[k] for k in order[600:]]
    showing = showing_of(OneQuestion(program, CLEVR), [sought], CLEVR)
    return _judged_families(
        cases, made, judges, selection, cohort, unrestricted(showing) if is_bug else showing
    )


def unrestricted(showing: Showing) -> Showing:
    def every(facts: Facts, symptom: Symptom, value: str) -> Ints:
        return np.ones(len(facts.scene.objects), dtype=np.int64)

    return replace(showing, hit=every, other=every)


@pytest.mark.parametrize(
    ("symptom", "value", "program", "sought"),
    [(MISSED, "", REDS, "1"), (MISSED, "", LEFT_OF_RED, "1")],
    ids=["asked of red things", "asked what is left of one"],
)
def test_a_model_that_misreads_all_objects_alike_has_no_condition(
    symptom: Symptom, value: str, program: Program, sought: str
) -> None:
    """Planted bug: held against all objects, it "misses a red object", as only red ones change what it says."""
    told = [
        [family for family in families(seed, symptom, value, program, sought) if family.is_established]
        for seed in range(6)
    ]
    assert sum(map(bool, told)) <= 1, [family.words for each in told for family in each]
    planted = [
        any(each.is_established for each in families(seed, symptom, value, program, sought, is_bug=True))
        for seed in range(2)
    ]
    assert all(planted)


def test_a_condition_that_matters_is_still_told() -> None:
    """Objects at the back alone are missed."""
    told = [families(seed, MISSED, "", REDS, "1", only="far back") for seed in range(3)]
    assert all([each.key for each in first.pattern.conditions] == ["far back"] for first, *_ in told)
    assert all(first.is_established for first, *_ in told)


def some(**counts: int) -> Facts:
    """A prior scene with so many objects of each color."""
    for situation in scenes():
        colors = [item.color for item in situation.facts.scene.objects]
        if all(colors.count(color) == n for color, n in counts.items()):
            return situation.facts
    raise AssertionError(counts)


def test_a_unit_counts_if_its_misreading_gives_an_answer_that_counts() -> None:
    question = OneQuestion(REDS, CLEVR)
    hit, other = (
        question.shows(lambda answer, sought=sought: (answer == "1") == sought) for sought in (True, False)
    )
    two, three = some(red=2), some(red=3)
    red = [int(item.color == "red") for item in two.scene.objects]
    assert hit(two, MISSED, "").tolist() == red and not other(two, MISSED, "").any()
    assert not hit(three, MISSED, "").any() and other(three, MISSED, "").sum() == 3
    assert other(two, COLOR, "red").tolist() == [1 - k for k in red], "two red things and one more"
    assert hit(three, RESPONSIBLE, "").tolist() == [1] * 5, "that is known without the question"


def test_two_misreadings_together_count_each_pair_that_a_unit_is_in() -> None:
    pairs = OneQuestion(REDS, CLEVR, together=2).shows(lambda answer: answer == "1")
    three = some(red=3)
    red = [2 * int(item.color == "red") for item in three.scene.objects]
    assert pairs(three, MISSED, "").tolist() == red, "of three red things, each is in two pairs"


@pytest.mark.parametrize(
    "misreading",
    [
        Misreading("shape", 2, "cube"),
        Misreading("missed", 1),
        Misreading("mirrored", None, "left and right"),
        Misreading("phantom", None, "small red metal cube"),
    ],
)
def test_a_failure_says_which_misreading_it_was(misreading: Misreading) -> None:
    failure = misread(misreading)
    assert misreading_of(failure.symptom, failure.unit, failure.value) == misreading
    assert (
        misreading_of(RESPONSIBLE, 0, "") is None
        and misreading_of(Symptom("scene", PHANTOM), 0, "x") is not None
    )
