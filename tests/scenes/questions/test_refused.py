"""What is no CLEVR question is refused, and the error quotes the words at fault."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex.foundation.errors import InputError
from trex.scenes.questions.english import lexicon, parse
from trex.scenes.questions.english.forms import _forms
from trex.scenes.vocabulary import CLEVR, CONE

UNKNOWN_WORDS = (
    ("What is the weather like in Paris?", ("weather", "like", "paris")),
    ("Who painted the picture?", ("who", "painted")),
    ("How many dogs are there?", ("dogs",)),
    ("How many cbues are left of the ball?", ("cbues",)),
    ("Are there any orange cubes?", ("orange",)),
    ("Is there a pyramid behind the cube?", ("pyramid",)),
    ("What colr is the cube?", ("colr",)),
    ("Is the cube bigger than the ball?", ("bigger",)),
    ("Is the cube taller than the sphere?", ("taller",)),
    ("Which cube is red?", ("which",)),
    ("Where is the red ball?", ("where",)),
    ("Why is the cube red?", ("why",)),
    ("Can you see a cube?", ("can", "you", "see")),
    ("Count the cubes.", ("count",)),
    ("Please tell me the color of the ball.", ("please", "tell", "me")),
    ("How many cubes are under the ball?", ("under",)),
    ("How many cubes are above the ball?", ("above",)),
    ("How many cubes are next to the ball?", ("next",)),
    ("How many cubes are near the ball?", ("near",)),
    ("How many cubes are between the balls?", ("between",)),
    ("How many cubes are touching the ball?", ("touching",)),
    ("What is the weight of the cube?", ("weight",)),
    ("What texture is the cube?", ("texture",)),
    ("How heavy is the cube?", ("heavy",)),
    ("How far is the cube from the ball?", ("far", "from")),
    ("Is it raining?", ("raining",)),
    ("There are two cubes; what color are they?", ("two", "they")),
    ("How many cubes are not red?", ("not",)),
    ("Are there no cubes?", ("no",)),
    ("Are all cubes red?", ("all",)),
    ("Are most of the balls blue?", ("most",)),
    ("Is every ball metal?", ("every",)),
    ("Are there at least three cubes?", ("at", "least", "three")),
    ("Are there exactly 3 cubes?", ("exactly", "3")),
    ("Is the number of cubes even?", ("even",)),
    ("How many cubes cast a shadow?", ("cast", "shadow")),
    ("What would happen if the cube fell?", ("would", "happen", "if", "fell")),
    ("Is the red cube to the west of the ball?", ("west",)),
    ("Wie viele Würfel gibt es?", ("wie", "viele", "würfel", "gibt", "es")),
    ("Combien de cubes y a-t-il ?", ("combien", "de", "y", "a-t-il")),
    ("asdf qwer", ("asdf", "qwer")),
    ("SELECT color FROM cubes", ("select", "from")),
    ("What's the color of the cube?", ("what's",)),
    ("How many cubes plus balls are there?", ("plus",)),
    ("What is the second largest thing?", ("second", "largest")),
    ("What color is the leftmost cube?", ("leftmost",)),
    ("What is the most common color?", ("most", "common")),
    ("Are the cubes stacked?", ("stacked",)),
    ("How many sides does the cube have?", ("sides",)),
    ("Does the robot arm hold the cube?", ("robot", "arm", "hold")),
)
KNOWN_WORDS = (
    ("Is the cube red?", "red"),
    ("Is the ball a sphere?", "a sphere"),
    ("Are the cubes red?", "red"),
    ("Is there a cube left of a ball?", "a ball"),
    ("Is there cube?", "cube"),
    ("Are any cubes?", "are any cubes"),
    ("How many?", "how many"),
    ("How many are there?", "are there"),
    ("How many red are there?", "red"),
    ("How many cubes are left?", "left"),
    ("How many cubes are left of?", "many cubes are left of"),
    ("How many cubes are left of the?", "cubes are left of the"),
    ("How many cubes left the picture?", "left the picture"),
    ("How many red blue cubes are there?", "red blue"),
    ("How many cube balls are there?", "cube balls"),
    ("How many cubes are either?", "how many cubes are either"),
    ("How many things are either cubes and spheres?", "and spheres"),
    ("How many things are cubes?", "how many things are cubes"),
    ("How many other cubes are there?", "other"),
    ("Is there anything else?", "anything else"),
    ("Is there another cube?", "another"),
    ("How many cubes are both left of the ball?", "both left of the ball"),
    ("How many cubes are left of the ball and?", "and"),
    ("How many cubes are left of the ball or behind the block?", "or behind the block"),
    (
        "How many cubes are left of the ball behind the block and in front of the cylinder?",
        "and in front of the",
    ),
    ("Are there more cubes than?", "are there more cubes than"),
    ("Are there more cubes and spheres?", "and spheres"),
    ("Are there fewer than cubes?", "than cubes"),
    ("Are there more than cubes?", "than cubes"),
    ("Are there an equal number of cubes than spheres?", "than spheres"),
    ("Are there the same number of cubes?", "the same number of cubes"),
    ("Is the number of cubes greater than the spheres?", "the spheres"),
    ("Is the number of cubes the same?", "the same"),
    ("What color is it?", "it"),
    ("What is its size?", "its"),
    ("What is the cube?", "what is the cube"),
    ("What is the size?", "size"),
    ("What color is the cube made of?", "made of"),
    ("What size is a cube?", "a cube"),
    ("What size are the cubes?", "are the cubes"),
    ("The cube is what?", "is what"),
    ("The cube is red.", "is red"),
    ("There is a cube.", "there is a cube"),
    ("There is a cube; how many balls are there?", "there is"),
    ("There is a cube; is it the same size as it?", "it"),
    ("Do the cube and the ball have the same number?", "the same number"),
    ("Do the cube and the ball have the size?", "the size"),
    ("Is the ball made of the same color as the cube?", "made of the same color"),
    ("Does the cube have the ball?", "the ball"),
    ("Left of the cube?", "left of the cube"),
)


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
    st.lists(st.sampled_from([";", *sorted(lexicon.known_words(CLEVR))]), max_size=14),
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
