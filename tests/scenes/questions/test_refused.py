"""What is no CLEVR question is refused, and the error quotes the words at fault."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scenes.questions.not_questions import KNOWN_WORDS, UNKNOWN_WORDS
from trex.foundation.errors import InputError
from trex.scenes.questions.english import lexicon, parse
from trex.scenes.questions.english.forms import _forms
from trex.scenes.vocabulary import CLEVR, CONE


def test_a_hundred_sentences() -> None:
    assert len({text for text, _ in UNKNOWN_WORDS + KNOWN_WORDS}) == 100


@pytest.mark.parametrize(("text", "words"), UNKNOWN_WORDS)
def test_unknown_words_are_named(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        parse(text)
    plural = "s" if len(words) > 1 else ""
    verb = "are" if len(words) > 1 else "is"
    named = ", ".join(repr(word) for word in words)
    assert str(refused.value).startswith(f"the word{plural} {named} in {text!r} {verb} not known; ")


@pytest.mark.parametrize(("text", "words"), KNOWN_WORDS)
def test_the_words_at_which_the_reading_stopped_are_quoted(text: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(text)
    message = str(refused.value)
    assert repr(text) in message
    assert repr(words) in message.replace(repr(text), "", 1)


@given(st.text(max_size=200))
def test_any_text_gives_a_program_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        parse(text)


@given(
    st.lists(st.sampled_from(sorted(lexicon.known_words(CLEVR))), max_size=14),
    st.sampled_from(sorted(_forms())),
)
def test_any_known_words_give_a_program_or_an_input_error(words: list[str], beginning: str) -> None:
    with suppress(InputError):
        parse(" ".join([beginning, *words]))


def test_a_refusal_gives_examples_that_are_read() -> None:
    for example in lexicon.EXAMPLES.split('", "'):
        parse(example.strip('"'))


def test_a_chain_that_makes_too_long_a_program_is_refused() -> None:
    with pytest.raises(InputError, match="a program must have 1 to 128 steps"):
        parse("How many cubes are behind the cube" + " behind the cube" * 55)


@pytest.mark.parametrize("word", ["dogs", "weather", "count"])
def test_a_word_that_resembles_nothing_is_not_taken_for_another(word: str) -> None:
    """Planted bug: dogs were taken for 'does', the weather for 'either'."""
    with pytest.raises(InputError, match="no known word is similar"):
        parse(f"How many {word} are there?")


def test_a_shape_that_is_not_introduced_is_named_as_one_that_a_query_can_introduce() -> None:
    with pytest.raises(
        InputError, match=r'introduces the shape may name it: \[scene\] introduce = \["cone"\]$'
    ):
        parse("How many cones are there?")
    parse("How many cones are there?", CLEVR.introduce(CONE))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "How many cubes are there? How many spheres?",
            "is more than one: 'how many spheres' follows; ask one",
        ),
        ("How many cubes are there! How many spheres?", "is more than one"),
        ("How many cubes, spheres?", "cannot be read at ','"),
        ("?! How many cubes; spheres", "cannot be read at ';'"),
    ],
)
def test_punctuation_is_quoted_as_it_was_typed(text: str, message: str) -> None:
    """Planted bug: "cannot be read at ';'", which nobody had typed."""
    with pytest.raises(InputError) as refused:
        parse(text)
    assert message in str(refused.value)
