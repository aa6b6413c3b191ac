"""What a rule's counts and conditions say: nothing that another rule has said, and nothing that adds nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.rules import find_rules, matches
from trex.families.symptom import OTHER, Symptom
from trex.scenes.conditions import object_conditions, question_conditions
from trex.scenes.vocabulary import CLEVR

N = 8000
Bools = NDArray[np.bool_]


def conditions(m: int = 12) -> Bools:
    return np.random.default_rng(20_267).random((N, m)) < 0.5


def test_a_condition_that_later_ones_make_useless_is_dropped() -> None:
    """Nine copies of a hint are the best rule of one condition, and say nothing beside the two true conditions.

    Planted bug: what was once in a rule stayed in it.
    """
    holds = conditions(2)
    cause = holds[:, 0] & holds[:, 1]
    hint = cause | (np.random.default_rng(1).random(N) < 0.3)
    table = np.column_stack([holds, *[hint] * 9])
    (rule, *_) = find_rules(table, cause & (np.random.default_rng(2).random(N) < 0.95))
    assert rule.conditions == (0, 1)


def test_a_second_rule_counts_no_case_of_the_first() -> None:
    """Planted bug: the events of the first rule were taken out and its other cases were not."""
    holds = conditions()
    chance = np.where(holds[:, 0] & holds[:, 1], 0.8, np.where(holds[:, 2] & holds[:, 3], 0.6, 0.02))
    events = np.random.default_rng(3).random(N) < chance
    first, second = find_rules(holds, events)[:2]
    assert (first.conditions, second.conditions) == ((0, 1), (2, 3))
    left = matches(holds, second) & ~matches(holds, first)
    assert (second.cases, second.events) == (int(left.sum()), int((left & events).sum()))


@pytest.mark.parametrize(("n", "is_named"), [(4, False), (5, True)])
def test_too_few_events_make_no_rule_however_surprising(n: int, is_named: bool) -> None:
    """Planted bug: n events of n cases among thousands are far above the bar, whatever n is."""
    holds = conditions()
    holds[:, 11] = False
    holds[:n, 11] = True
    events = np.arange(N) < n
    found = [rule.conditions for rule in find_rules(holds, events)]
    assert ((11,) in found) is is_named


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            ("asks query_material", "mentions color gray", "mentions color yellow"),
            "in questions that ask for the material and mention “gray” and “yellow”.",
        ),
        (
            ("relation front", "mentions size small", "asks count"),
            "in questions that ask for a number and mention “small”, with the relation “front”.",
        ),
        (("or",), "in questions with “either … or”."),
    ],
)
def test_conditions_on_questions_are_one_sentence(keys: tuple[str, ...], words: str) -> None:
    """Planted bug: each came after a comma: "that ask for the material, that mention “gray”, that mention “yellow”"."""
    conditions = [each for each in question_conditions(CLEVR) if each.key in keys]
    family = Family(Pattern.of(conditions), Symptom("question", OTHER))
    assert family.words == f"The model gives a wrong answer {words}"


def test_each_condition_on_an_object_has_its_verb() -> None:
    """Planted bug: the first alone lost its "that": "where it overlaps a small object and that overlaps a red one"."""
    keys = ("touches size small", "touches color purple", "hidden by larger", "left color green")
    conditions = [each for each in object_conditions(CLEVR) if each.key in keys]
    assert Family(Pattern.of(conditions), Symptom("object", "missed")).words == (
        "The model misses an object where it overlaps a small object in the picture and overlaps a purple object in "
        "the picture and is partly hidden by a larger object and is left of a green object."
    )
