"""What we phrase is read back as the same program: 10,000 questions of all 90 families, and random compositions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.references.scene_strategies import random_scene
from trex.foundation.errors import InputError
from trex.scenes.graph import RELATIONS
from trex.scenes.questions.english import meaning, parse, phrase, phrasing, things
from trex.scenes.questions.english.tree import Ask, Beside, Both, Compare, Either, Question, Sharing, Things
from trex.scenes.questions.families import FAMILIES, Family, random_question
from trex.scenes.questions.family_forms import family_of
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.questions.programs import Program, Step
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR

QUESTIONS = 10_000
SEED = 90
FEW = 450  # for planted bugs


@lru_cache(maxsize=1)
def questions() -> tuple[tuple[Family, Program], ...]:
    """Generated questions, of all families in turn."""
    return tuple(_questions(np.random.default_rng(SEED), QUESTIONS))


def _questions(rng: np.random.Generator, n: int) -> Iterator[tuple[Family, Program]]:
    number = 0
    while number < n:
        scene = random_scene(rng, int(rng.integers(3, 11)))
        for family in FAMILIES:
            drawn = random_question(rng, scene, family)
            if drawn is not None and number < n:
                number += 1
                yield family, drawn[0]


def _is_read_back(program: Program) -> bool:
    return parse(phrase(program)) == program


@pytest.mark.slow
def test_ten_thousand_questions_of_all_families_are_read_back() -> None:
    assert [phrase(program) for _, program in questions() if not _is_read_back(program)] == []
    counts = Counter(family for family, _ in questions())
    assert set(counts) == set(FAMILIES)
    assert min(counts.values()) > 50


def test_a_few_questions_of_all_families_are_read_back() -> None:
    few = list(_questions(np.random.default_rng(SEED), FEW))
    assert [phrase(program) for _, program in few if not _is_read_back(program)] == []
    assert {family for family, _ in few} == set(FAMILIES)


def test_each_question_has_the_form_of_its_own_family() -> None:
    few = _questions(np.random.default_rng(SEED + 1), 4 * FEW)
    assert [family.name for family, program in few if family_of(program) != family] == []


def test_a_program_of_no_family_is_said_to_have_none() -> None:
    for text in (
        "Are there any things that are either cubes or spheres?",
        "How many large red things are either cubes or spheres?",
        "What color is the cube behind the ball behind the cube behind the ball behind the cube?",
        "There is another cube that is the same size as the ball; does it have the same color as the cylinder?",
    ):
        assert family_of(parse(text)) is None


def compared_the_other_way(patch: pytest.MonkeyPatch) -> None:
    compare = meaning._Steps.compare

    def swapped(steps: meaning._Steps, request: Compare) -> int:
        return compare(steps, Compare(request.function, request.second, request.first))

    patch.setattr(meaning._Steps, "compare", swapped)


PLANTED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the sides of every comparison the other way round": compared_the_other_way,
    "the reader swaps two relations": lambda patch: patch.setitem(things.RELATIONS, "left of", "right"),
    # As in CLEVR's other templates.
    "compared things queried one after the other": lambda patch: patch.setattr(meaning, "_QUERIED_LATE", ()),
    "more phrased as less": lambda patch: patch.setitem(
        phrasing._COMPARED, "greater_than", phrasing._COMPARED["less_than"]
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[bug](monkeypatch)
    with pytest.raises(AssertionError):
        test_a_few_questions_of_all_families_are_read_back()


SAID: st.SearchStrategy[Description] = st.tuples(
    *(st.sampled_from((None, None, *CLEVR.values(name))) for name in FILTER_ORDER)
)


def _one_place(anchors: st.SearchStrategy[Things]) -> st.SearchStrategy[Beside | Sharing]:
    return st.builds(Beside, st.sampled_from(RELATIONS), anchors) | st.builds(
        Sharing, st.sampled_from(ATTRIBUTES), anchors
    )


def _located(anchors: st.SearchStrategy[Things]) -> st.SearchStrategy[Things]:
    place = _one_place(anchors)
    return st.builds(Things, SAID, place | st.builds(Both, place, place))


THE = st.recursive(st.builds(Things, SAID), _located, max_leaves=4)
SOME = THE | st.builds(Things, SAID, st.builds(Either, THE, THE))
QUESTIONS_OF_ANY_SHAPE = (
    st.builds(Ask, st.sampled_from(("count", "exist")), SOME)
    | st.builds(Ask, st.sampled_from(ATTRIBUTES), THE)
    | st.builds(Compare, st.sampled_from(("equal_integer", "less_than", "greater_than")), SOME, SOME)
    | st.builds(Compare, st.sampled_from([f"equal_{name}" for name in ATTRIBUTES]), THE, THE)
)


@given(QUESTIONS_OF_ANY_SHAPE)
def test_compositions_beyond_the_families_are_read_back(question: Question) -> None:
    program = meaning.program_of(question)
    try:
        text = phrase(program)
    except InputError:
        assume(False)
    assume(len(text) <= 1000)
    assert parse(text) == program


def test_a_step_of_another_order_is_no_question_of_ours() -> None:
    """Filters in another order have the same meaning; they are read back in CLEVR's order."""
    odd = (Step("scene"), Step("filter_shape", (0,), ("cube",)), Step("filter_color", (1,), ("red",)))
    assert parse(phrase((*odd, Step("count", (2,))))) == parse("How many red cubes are there?")
