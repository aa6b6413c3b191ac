"""Vocabulary, tokenizer and program strings of the released CLEVR models: every published example, and our executor.

What judges executor and conversion is written apart from both: it carries prefix programs out on a scene straight
from their tokens, by sets of objects.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.references.official_clevr import OFFICIAL, data_file, raw
from tests.references.prefix_programs import from_prefix
from tests.references.scene_strategies import random_scene
from trex.clevr_models.iep.vocabulary import (
    SPECIALS,
    Call,
    IepVocabulary,
    calls_of,
    read_iep_vocabulary,
    to_prefix,
    tokenize,
)
from trex.clevr_models.interface.answers import ANSWERS
from trex.foundation.errors import InputError
from trex.scenes.graph import related
from trex.scenes.questions.english import phrase
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import InvalidProgram, Step, execute
from trex.scenes.scene import Scene

Value = set[int] | int | bool | str


class NoAnswer(Exception):
    """unique of none or several."""


def prefix_answer(text: str, scene: Scene, swapped: bool = False) -> str:
    """The answer; `swapped` is a planted bug that takes the second argument for the first."""
    value = _value(iter(text.split()), scene, swapped)
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _value(tokens: Iterator[str], scene: Scene, swapped: bool) -> Value:
    name, _, word = next(tokens).rstrip("]").partition("[")
    things, attribute = scene.objects, name.partition("_")[2]
    if name == "scene":
        return set(range(len(things)))
    a = _value(tokens, scene, swapped)
    match name.partition("_")[0]:
        case "unique":
            assert isinstance(a, set)
            if len(a) != 1:
                raise NoAnswer
            return a.pop()
        case "count":
            return len(a)  # type: ignore[arg-type]
        case "exist":
            return bool(a)
        case "filter":
            return {i for i in a if getattr(things[i], attribute) == word}  # type: ignore[union-attr]
        case "relate":
            return set(related(scene)[word][a])  # type: ignore[index]
        case "query":
            return getattr(things[a], attribute)  # type: ignore[index,no-any-return]
        case "same":
            mine = getattr(things[a], attribute)  # type: ignore[index]
            return {i for i, thing in enumerate(things) if i != a and getattr(thing, attribute) == mine}
    b = _value(tokens, scene, swapped)
    a, b = (b, a) if swapped else (a, b)
    match name.partition("_")[0]:
        case "equal":
            return a == b
        case "less":
            return a < b  # type: ignore[operator]
        case "greater":
            return a > b  # type: ignore[operator]
        case "union":
            return a | b  # type: ignore[operator]
        case "intersect":
            return a & b  # type: ignore[operator]
    raise AssertionError(name)


VOCABULARY = IepVocabulary()
# "Does the small sphere have the same color as the cube left of the gray cube?" (released README)
GOLDEN = (
    "equal_color query_color unique filter_shape[sphere] filter_size[small] scene query_color unique "
    "filter_shape[cube] relate[left] unique filter_shape[cube] filter_color[gray] scene"
)


def test_sizes_and_numbers_are_the_published_ones() -> None:
    sizes = [len(tokens) for tokens in (VOCABULARY.questions, VOCABULARY.programs, VOCABULARY.answers)]
    assert sizes == [93, 44, 32]
    for tokens in (VOCABULARY.questions, VOCABULARY.programs, VOCABULARY.answers):
        assert tokens[:4] == SPECIALS and list(tokens[4:]) == sorted(tokens[4:])
    places = {"0": 4, "1": 5, "10": 6, "2": 7, "9": 14, "blue": 15, "no": 24, "yellow": 30, "yes": 31}
    assert all(VOCABULARY.answers[number] == token for token, number in places.items())
    assert set(VOCABULARY.answers[4:]) == set(ANSWERS)
    functions = {
        "count": 4, "equal_color": 5, "equal_size": 9, "exist": 10, "filter_color[blue]": 11,
        "filter_color[yellow]": 18, "filter_material[metal]": 19, "filter_shape[cube]": 21,
        "filter_size[large]": 24, "greater_than": 26, "intersect": 27, "less_than": 28, "query_color": 29,
        "query_size": 32, "relate[behind]": 33, "relate[right]": 36, "same_color": 37, "same_size": 40,
        "scene": 41, "union": 42, "unique": 43,
    }  # fmt: skip
    assert all(VOCABULARY.programs[number] == token for token, number in functions.items())
    words = {"": 4, ";": 5, "Are": 6, "What": 13, "yellow": 92}
    assert all(VOCABULARY.questions[number] == word for word, number in words.items())


def test_the_published_example_of_tokens() -> None:
    # "many" is 57 by the list of words itself; an example that says 58 contradicts the list that it stands beside
    assert VOCABULARY.encode_question("How many cubes?") == (1, 9, 57, 33, 2)
    assert tokenize("There is a cube; what size is it?")[3:6] == ("cube", ";", "what")
    assert tokenize("a  big, red.") == ("a", "", "big", ",", "red")


def test_a_word_never_seen_is_named_and_case_matters() -> None:
    with pytest.raises(InputError, match="'cones', which is not in the vocabulary"):
        VOCABULARY.encode_question("How many cones are there?")
    with pytest.raises(InputError, match="'HOW'"):
        VOCABULARY.encode_question("HOW many cubes are there?")


def test_the_vocabulary_file_at_hand_is_this_one() -> None:
    import json

    data = json.loads(data_file("CLEVR_v1.0/vocab.json").read_text())
    assert read_iep_vocabulary(data, "vocab.json") == VOCABULARY


def test_a_vocabulary_is_read_back_and_a_damaged_one_refused() -> None:
    assert read_iep_vocabulary(VOCABULARY.as_json(), "x") == VOCABULARY
    good = VOCABULARY.as_json()
    answers = dict(good["answer_token_to_idx"])
    for damaged, message in (
        ([], "contains no vocabulary"),
        ({**good, "answer_token_to_idx": None}, "must map 1 to 20000 tokens"),
        ({**good, "answer_token_to_idx": {**answers, "yes": 40}}, "must number its tokens"),
        ({**good, "answer_token_to_idx": {**answers, "yes": True}}, "must map strings"),
        ({**good, "answer_token_to_idx": {"yes": 0, "no": 1}}, "begin with"),
        (
            {
                **good,
                "program_token_to_idx": {
                    t.replace("unique", "forward"): n for t, n in good["program_token_to_idx"].items()
                },
            },
            "program tokens are not CLEVR's: 'forward', 'unique'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            read_iep_vocabulary(damaged, "x")


def test_the_golden_program_is_read_and_written() -> None:
    program = from_prefix(GOLDEN.split())
    assert [step.function for step in program[:4]] == ["scene", "filter_size", "filter_shape", "unique"]
    assert program[-1] == Step("equal_color", (4, len(program) - 2))
    assert " ".join(to_prefix(program)) == GOLDEN
    question = "Does the small sphere have the same color as the cube left of the gray cube?"
    assert len(VOCABULARY.encode_question(question)) == 18


def test_what_a_generator_may_write_is_taken_as_the_released_engines_take_it() -> None:
    scene = Call("scene")
    assert calls_of(["<START>", "count", "scene", "<END>"]) == (scene, Call("count", (0,)))
    assert calls_of(["count", "<NULL>"]) == (scene, Call("count", (0,)))  # <NULL> is the scene
    assert (
        calls_of(["count"]) == calls_of(["count", "scene", "unique", "scene"]) == (scene, Call("count", (0,)))
    )
    assert calls_of(["count", "<END>"]) == (scene, Call("<END>", (0,)), Call("count", (1,)))
    assert calls_of([]) == (scene,)
    assert calls_of(["union", "unique", "scene", "count", "scene"])[-1] == Call("union", (1, 3))


def test_a_step_that_the_models_do_not_know_is_refused() -> None:
    objects = [Step("scene"), Step("filter_color", (0,), ("red",)), Step("unique", (1,))]
    with pytest.raises(InputError, match="equal_object"):
        to_prefix((*objects, Step("equal_object", (2, 2))))
    cone = [Step("scene"), Step("filter_shape", (0,), ("cone",)), Step("count", (1,))]
    with pytest.raises(InputError, match="'cone'"):
        to_prefix(tuple(cone))


def test_a_program_that_grows_without_end_as_a_tree_is_refused() -> None:
    program = [Step("scene")]
    program += [Step("union", (i, i)) for i in range(40)]  # 2**40 leaves
    with pytest.raises(InputError, match="more than 256 steps"):
        to_prefix((*program, Step("count", (40,))))


@given(st.lists(st.sampled_from(VOCABULARY.programs), max_size=30))
def test_any_tokens_give_calls_that_can_be_carried_out(tokens: list[str]) -> None:
    for number, call in enumerate(calls_of(tokens)):
        assert call.token in VOCABULARY.programs and all(0 <= at < number for at in call.inputs)


def agree(seed: int, scenes: int, swapped: bool = False) -> tuple[int, int]:
    """Questions asked about random scenes, and how many of their prefix programs have our executor's answer."""
    rng = np.random.default_rng(seed)
    number = right = 0
    for _ in range(scenes):
        scene = random_scene(rng, int(rng.integers(3, 11)))
        for question in random_questions(rng, scene, 20):
            tokens = to_prefix(question.program)
            again = from_prefix(tokens)
            assert to_prefix(again) == tokens and set(tokens) <= set(VOCABULARY.programs)
            number += 1
            right += (
                question.answer == prefix_answer(" ".join(tokens), scene, swapped) == execute(again, scene)
            )
    return number, right


def test_prefix_programs_and_our_executor_agree() -> None:
    number, right = agree(seed=61, scenes=20)
    assert number >= 350 and right == number


@pytest.mark.nightly
def test_ten_thousand_prefix_programs_and_our_executor_agree() -> None:
    number, right = agree(seed=63, scenes=520)
    assert number >= 10_000 and right == number


def test_planted_arguments_in_the_wrong_order_are_caught() -> None:
    number, right = agree(seed=61, scenes=20, swapped=True)
    assert right < number


def test_every_question_that_we_phrase_is_in_the_models_words() -> None:
    rng = np.random.default_rng(62)
    for _ in range(5):
        for question in random_questions(rng, random_scene(rng, 6), 20):
            VOCABULARY.encode_question(phrase(question.program))


@pytest.mark.parametrize("file", ["CLEVR_val", "CLEVR_train", "CLOSURE_val"])
def test_official_programs_and_questions_are_taken(file: str) -> None:
    from tests.references.official_clevr import scenes_by_picture

    scenes = scenes_by_picture(OFFICIAL)
    questions = raw(f"CLEVR_v1.0/questions/{file}_questions.json", "questions")
    assert questions
    for question in questions:
        program = program_from_json(question["program"])
        tokens = to_prefix(program)
        scene = scenes[str(question["image_filename"])]
        try:
            assert prefix_answer(" ".join(tokens), scene) == execute(program, scene)
        except NoAnswer:
            with pytest.raises(InvalidProgram):
                execute(program, scene)
        VOCABULARY.encode_question(str(question["question"]))
