"""Questions in English: all phrasings are read, all we say is read back, what is not understood is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.references.official_clevr import data_file, raw
from tests.references.scene_strategies import random_scene
from trex.foundation.errors import InputError
from trex.scenes.graph import RELATIONS
from trex.scenes.questions.english import parse, phrase
from trex.scenes.questions.families import FAMILIES, random_question
from trex.scenes.questions.filters import ANYTHING, FILTER_ORDER, Description
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program, Step
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR, CONE, ShapeCard, Vocabulary


def question_program(
    text: str, target: Description, relation: str = "", anchor: Description = ANYTHING
) -> Program:
    """Asks for count, existence or an attribute of the described objects, related to an anchor; written out by hand."""
    steps = [Step("scene")]
    if relation:
        _filter(steps, anchor)
        steps.append(Step("unique", (len(steps) - 1,)))
        steps.append(Step("relate", (len(steps) - 1,), (relation,)))
    _filter(steps, target)
    if text not in ("count", "exist"):
        steps.append(Step("unique", (len(steps) - 1,)))
        text = f"query_{text}"
    return (*steps, Step(text, (len(steps) - 1,)))


def _filter(steps: list[Step], texts: Description) -> None:
    for attribute, word in zip(FILTER_ORDER, texts, strict=True):
        if word is not None:
            steps.append(Step(f"filter_{attribute}", (len(steps) - 1,), (word,)))


GNOME = ShapeCard("gnome", "garden gnomes", "mesh", "gnome.obj", ("garden gnome", "dwarf"))
OURS = CLEVR.introduce(CONE).introduce(GNOME)
RED_CUBE: Description = (None, "red", None, "cube")
SMALL_BALL: Description = ("small", None, "metal", "sphere")
BALL: Description = (None, None, None, "sphere")


def descriptions(vocabulary: Vocabulary) -> st.SearchStrategy[Description]:
    """Any description, wordless ones included."""
    return st.tuples(*(st.sampled_from((None, *vocabulary.values(name))) for name in FILTER_ORDER))


ANY = descriptions(OURS)
ASKED = ("count", "exist", *ATTRIBUTES)


@given(st.sampled_from(ASKED), ANY, st.sampled_from(("", *RELATIONS)), ANY)
def test_what_is_said_is_read_back(
    asked: str, target: Description, relation: str, anchor: Description
) -> None:
    program = question_program(asked, target, relation, anchor)
    assert parse(phrase(program, OURS), OURS) == program


COUNT_CUBES = question_program("count", RED_CUBE)
EXIST_CUBES = question_program("exist", RED_CUBE)
COUNT_HOP = question_program("count", RED_CUBE, "left", SMALL_BALL)
EXIST_HOP = question_program("exist", RED_CUBE, "front", SMALL_BALL)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("How many red cubes are there?", COUNT_CUBES),
        ("how many red blocks are visible", COUNT_CUBES),
        ("  What  number of RED cubes are there ? ", COUNT_CUBES),
        ("How many red cubes?", COUNT_CUBES),
        ("How many red cubes are there in the picture?", COUNT_CUBES),
        ("Are there any red cubes?", EXIST_CUBES),
        ("Are any red blocks visible?", EXIST_CUBES),
        ("Is there a red cube?", EXIST_CUBES),
        ("Is there a red block in the scene?", EXIST_CUBES),
        ("How many red cubes are left of the small metal ball?", COUNT_HOP),
        ("What number of red cubes are to the left of the tiny shiny sphere?", COUNT_HOP),
        ("There is a small metal ball; how many red cubes are on the left side of it?", COUNT_HOP),
        ("There is a small metallic ball. What number of red cubes are to the left of it?", COUNT_HOP),
        ("How many red cubes are there to the left of the small metal ball?", COUNT_HOP),
        ("Are there any red cubes in front of the small metal ball?", EXIST_HOP),
        ("Are there any red cubes that are in front of the small metal ball?", EXIST_HOP),
        ("Is there a red cube in front of the small metal ball?", EXIST_HOP),
        ("There is a small metal ball; are there any red cubes in front of it?", EXIST_HOP),
        ("There is a small metal ball, is there a red cube that is in front of it?", EXIST_HOP),
        ("How many things are there?", question_program("count", (None,) * 4)),
    ],
)
def test_counts_and_existence(text: str, program: Program) -> None:
    assert parse(text) == program


@pytest.mark.parametrize("relation", ["", "right of", "to the right of", "on the right side of"])
@pytest.mark.parametrize("that_is", ["", "that is "])
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_queries_in_all_phrasings(attribute: str, that_is: str, relation: str) -> None:
    target = "matte thing" + (f" {that_is}{relation} the ball" if relation else "")
    hop = ("right", BALL) if relation else ()
    program = question_program(attribute, (None, None, "rubber", None), *hop)
    forms = [
        f"What {attribute} is the {target}?",
        f"What is the {attribute} of the {target}?",
        f"The {target} is what {attribute}?",
        f"The {target} has what {attribute}?",
        f"There is a {target}; what {attribute} is it?",
        f"There is a {target}; what is its {attribute}?",
    ]
    forms += {
        "size": [f"How big is the {target}?", f"There is a {target}; how big is it?"],
        "material": [
            f"What is the {target} made of?",
            f"What material is the {target} made of?",
            f"The {target} is made of what material?",
            f"There is a {target}; what is it made of?",
        ],
        "color": [f"What colour is the {target}?"],
        "shape": [],
    }[attribute]
    assert [parse(form) for form in forms] == [program] * len(forms)


def test_words_of_ones_own_shapes() -> None:
    for text in (
        "How many red garden gnomes are there?",
        "how many red dwarfs?",
        "How many red gnome are there",
    ):
        assert parse(text, OURS) == question_program("count", (None, "red", None, "gnome"))
    assert (
        phrase(question_program("count", (None, None, None, "gnome")), OURS)
        == "How many garden gnomes are there?"
    )
    with pytest.raises(InputError, match=r"'gnomes' in '.*' is not known"):
        parse("How many gnomes are there?")
    with pytest.raises(
        InputError, match=r"cannot be read at 'gnomes are there'; expected .* 'garden gnomes'"
    ):
        parse("How many gnomes are there?", OURS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the question is empty"),
        (" ?! ", "the question is empty"),
        ("How many cbues are there?", "'cbues' in '.*' is not known; did you mean 'cubes'"),
        ("How many gray purpel balls are there?", "'purpel' .* did you mean 'purple'"),
        ("What colr is the ball?", "'colr' .* did you mean 'color'"),
        (
            "How many red are there?",
            "'red' in .* names no things; end it with things, objects, cubes, spheres",
        ),
        ("How many red blue cubes?", "names two values of color, 'red' and 'blue'"),
        ("How many cube balls?", "names two kinds of things, 'cube' and 'balls'"),
        ("Is the cube red?", "cannot be read at 'red'; expected 'the same .*functional programs"),
        ("Are there more cubes", "ends too early, after 'are there more cubes'; expected 'than'"),
        ("How many " + "red " * 400 + "cubes", "longer than 1000 characters"),
    ],
)
def test_what_is_not_understood_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


def test_programs_without_english_say_so() -> None:
    steps = (Step("scene"), Step("filter_color", (0,), ("red",)), Step("filter_color", (1,), ("blue",)))
    odd = (*steps, Step("count", (2,)))
    with pytest.raises(InputError, match="cannot phrase a program"):
        phrase(odd)


def test_a_word_for_another_color_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a lexicon that swaps two words."""
    words = dict(CLEVR.words(), red=("color", "green"))
    monkeypatch.setattr(Vocabulary, "words", lambda self: words)
    with pytest.raises(AssertionError):
        test_counts_and_existence("How many red cubes are there?", COUNT_CUBES)


@pytest.mark.parametrize(("name", "count"), [("CLEVR_train", 40), ("CLEVR_val", 7), ("CLOSURE_val", 924)])
def test_every_official_question_is_read_as_its_own_program(name: str, count: int) -> None:
    questions = raw(f"CLEVR_v1.0/questions/{name}_questions.json", "questions")
    misread = [q for q in questions if parse(str(q["question"])) != program_from_json(q["program"])]
    assert (len(questions), misread) == (count, [])


def test_every_generated_question_is_read_as_its_own_program() -> None:
    """Where a word is missing in the recorded program (the public generator lost some) any word will do."""
    questions = raw("CLEVR_generated/questions/CLEVR_new_questions.json", "questions")
    misread = [q for q in questions if not _agrees(parse(str(q["question"])), q["program"])]
    assert (len(questions), misread) == (1160, [])


def _agrees(program: Program, records: object) -> bool:
    assert isinstance(records, list)
    recorded = [Step(r["type"], tuple(r["inputs"]), tuple(r["value_inputs"])) for r in records]
    return len(program) == len(recorded) and all(
        ours == theirs._replace(value_inputs=theirs.value_inputs or ours.value_inputs)
        for ours, theirs in zip(program, recorded, strict=True)
    )


def test_we_say_only_words_of_the_official_questions() -> None:
    """So that a model which reads CLEVR's questions has a word index for each of ours."""
    with data_file("CLEVR_v1.0/vocab.json").open(encoding="utf-8") as stream:
        words = set(json.load(stream)["question_token_to_idx"])
    rng = np.random.default_rng(2)
    for family in FAMILIES:
        for _ in range(5):
            drawn = random_question(rng, random_scene(rng, 8), family)
            assert drawn is None or set(phrase(drawn[0]).removesuffix("?").split()) <= words
