"""Other wordings of a question mean the same: each is read back as the very same program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.scenes.questions.test_english import GNOME
from tests.scenes.questions.test_round_trip import FEW, QUESTIONS_OF_ANY_SHAPE, SEED, _questions
from trex.clevr_models.relation_network.model import relation_vocabulary
from trex.foundation.errors import InputError
from trex.scenes.questions.english import meaning, parse, phrase, phrasing, wordings
from trex.scenes.questions.english.tree import Question
from trex.scenes.questions.families import FAMILIES, Family
from trex.scenes.questions.programs import Program
from trex.scenes.vocabulary import CLEVR, CONE

N = 4


def asked(n: int) -> Iterator[tuple[Family, Program, tuple[str, ...]]]:
    """Random questions of all families in turn, each in N wordings."""
    rng = np.random.default_rng([SEED, 1])
    for family, program in _questions(rng, n):
        yield family, program, wordings(rng, program, N)


def test_each_wording_is_read_back_as_the_same_program() -> None:
    found = list(asked(FEW))
    assert [text for _, program, texts in found for text in texts if parse(text) != program] == []
    assert {family for family, *_ in found} == set(FAMILIES)
    assert all(len(set(texts)) == len(texts) > 1 for *_, texts in found)


@pytest.mark.slow
def test_ten_thousand_questions_in_four_wordings_are_read_back() -> None:
    assert [text for _, program, texts in asked(10_000) for text in texts if parse(text) != program] == []


@given(QUESTIONS_OF_ANY_SHAPE, st.integers(0, 1 << 32))
def test_wordings_of_compositions_beyond_the_families_are_read_back(question: Question, seed: int) -> None:
    program = meaning.program_of(question)
    try:
        texts = wordings(np.random.default_rng(seed), program, N)
    except InputError:
        assume(False)
    assume(max(map(len, texts)) <= 1000)
    assert [text for text in texts if parse(text) != program] == []


def said(name: str, *texts: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A table of phrasing in which a name has these wordings."""
    where, _, key = name.partition(".")
    return lambda patch: patch.setitem(getattr(phrasing, where), key, texts)


PLANTED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "left said as right by one synonym": said("RELATION_PHRASES.left", "left of", "on the right side of"),
    "a wording of metal that means rubber": said("SYNONYMS.metal", "metal", "metallic", "matte"),
    "fewer said for more": said(
        "_COMPARED.greater_than", phrasing._COMPARED["greater_than"][0], "Are there fewer {} than {}?"
    ),
    "a template that asks for the size of what has a color": said(
        "_QUERIES.color", "What is the color of {the}?", "How big is {the}?"
    ),
    "one wording only": lambda patch: patch.setattr(
        phrasing._Phraser, "__init__", _always_plain(phrasing._Phraser.__init__)
    ),
}


def _always_plain(init: Callable[..., None]) -> Callable[..., None]:
    return lambda self, program, vocabulary, choose: init(self, program, vocabulary, lambda texts: texts[0])


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[bug](monkeypatch)
    with pytest.raises(AssertionError):
        test_each_wording_is_read_back_as_the_same_program()


def test_the_first_is_the_plain_one_and_more_are_added_at_the_end() -> None:
    for _, program in _questions(np.random.default_rng(SEED), 90):
        five, two = (wordings(np.random.default_rng(7), program, n) for n in (5, 2))
        assert five[0] == phrase(program) and five[:2] == two
        assert wordings(np.random.default_rng(7), program, 1) == (phrase(program),)


def test_the_second_differs_at_every_place_that_allows_it() -> None:
    """A model that fails at a plain word is right then. Planted bug: half of the words, by chance, stayed."""
    plain = re.compile(
        r"\b(thing|cube|sphere|large|small|metal|rubber|left of|How many|What is the \w+ of the)s?\b"
    )
    kept = [texts[1] for *_, texts in asked(FEW) if plain.search(re.sub("to the left of", "", texts[1]))]
    assert kept == []


def test_all_words_and_templates_for_the_smallest_question_are_used() -> None:
    """Planted bug: only the words changed."""
    assert set(wordings(np.random.default_rng(0), parse("How many things are there?"), 50)) == {
        f"{start} {noun} are {end}?"
        for start in ("How many", "What number of")
        for noun in ("things", "objects")
        for end in ("there", "visible")
    }
    queries = wordings(np.random.default_rng(0), parse("What is the color of the small ball?"), 30)
    assert {text.split(" small ")[0].split(" tiny ")[0] for text in queries} == {
        "What is the color of the", "What color is the", "The", "There is a",
    }  # fmt: skip


def test_a_shape_of_a_card_has_the_words_of_its_card_alone() -> None:
    """Planted bug: the synonyms of the nearest shape of CLEVR."""
    ours = CLEVR.introduce(CONE).introduce(GNOME)
    for words in ({"cones"}, {"garden gnomes", "dwarfs"}, {"cubes", "blocks"}):
        program = parse(f"How many {min(words, key=len)} are there?", ours)
        texts = wordings(np.random.default_rng(1), program, 50, ours)
        assert all(parse(text, ours) == program for text in texts)
        nouns = {
            text.removeprefix("How many ").removeprefix("What number of ").split(" are ")[0] for text in texts
        }
        assert nouns == words


def test_every_wording_has_words_that_the_relation_network_was_trained_on() -> None:
    """Planted bugs: "colour", "in the picture"."""
    vocabulary = relation_vocabulary()
    for *_, texts in asked(FEW):
        for text in texts:
            assert vocabulary.encode(text)
