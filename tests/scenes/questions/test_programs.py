"""The program executor: every function by hand, untrusted programs, and every published question at hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.references.official_clevr import OFFICIAL, raw, scenes_by_picture
from trex.foundation.errors import InputError
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.functions import FUNCTIONS, SET
from trex.scenes.questions.program_json import program_from_json, program_to_json
from trex.scenes.questions.programs import (
    InvalidProgram,
    Program,
    Step,
    execute,
    execute_on,
    possible_answers,
    trace,
)
from trex.scenes.scene import ATTRIBUTES, Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR, CONE

QUESTIONS = "CLEVR_v1.0/questions/CLEVR_{}_questions.json"
GENERATED = (
    "CLEVR_generated/scenes/CLEVR_new_scenes.json",
    "CLEVR_generated/questions/CLEVR_new_questions.json",
)
# A big red rubber cube in the middle, a small red metal ball behind it to its right, a small blue metal cube
# in front of it.
HAND_MADE = Scene(
    (
        SceneObject("cube", "large", "red", "rubber", 0.0, 0.0, 0.0),
        SceneObject("sphere", "small", "red", "metal", 0.0, 2.0, 0.0),
        SceneObject("cube", "small", "blue", "metal", 1.5, -1.5, 0.0),
    ),
    Nuisances(),
)


def program(*calls: str) -> Program:
    """A chain of calls, each on the one before: "filter_color red"; numbers name earlier steps instead."""
    steps: list[Step] = []
    for call in calls:
        name, *words = call.split()
        inputs = tuple(int(word) for word in words if word.isdigit())
        takes = len(FUNCTIONS[name].takes)
        default = tuple(range(len(steps) - takes, len(steps)))
        steps.append(Step(name, inputs or default, tuple(word for word in words if not word.isdigit())))
    return tuple(steps)


RED, BALL = ("scene", "filter_color red"), ("scene", "filter_shape sphere", "unique")
BLUE = ("scene", "filter_color blue", "unique")


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        (("scene", "count"), "3"),
        ((*RED, "count"), "2"),
        ((*RED, "filter_size small", "filter_material metal", "exist"), "yes"),
        (("scene", "filter_color green", "exist"), "no"),
        ((*BALL, "query_size"), "small"),
        ((*BALL, "query_color"), "red"),
        ((*BALL, "query_material"), "metal"),
        ((*BLUE, "query_shape"), "cube"),
        ((*BALL, "relate front", "count"), "2"),
        ((*BALL, "relate behind", "exist"), "no"),
        ((*BALL, "relate left", "filter_shape cube", "count"), "2"),
        ((*BALL, "relate right", "count"), "0"),
        ((*BALL, "same_color", "unique", "query_shape"), "cube"),
        ((*BALL, "same_shape", "count"), "0"),
        ((*BALL, "same_size", "count"), "1"),
        ((*BALL, "same_material", "exist"), "yes"),
        ((*RED, *("scene", "filter_shape cube"), "union 1 3", "count"), "3"),
        ((*RED, *("scene", "filter_shape cube"), "intersect 1 3", "count"), "1"),
        ((*BALL, *BLUE, "query_size 2", "query_size 5", "equal_size"), "yes"),
        ((*BALL, *BLUE, "query_color 2", "query_color 5", "equal_color"), "no"),
        ((*BALL, *BLUE, "query_shape 2", "query_shape 5", "equal_shape"), "no"),
        ((*BALL, *BLUE, "query_material 2", "query_material 5", "equal_material"), "yes"),
        ((*BALL, *BLUE, "equal_object 2 5"), "no"),
        ((*BALL, *BALL, "equal_object 2 5"), "yes"),
        (("scene", "count", *RED, "count", "equal_integer 1 4"), "no"),
        (("scene", "count", *RED, "count", "less_than 4 1"), "yes"),
        (("scene", "count", *RED, "count", "greater_than 4 1"), "no"),
    ],
)
def test_each_function_on_a_hand_made_scene(calls: tuple[str, ...], answer: str) -> None:
    assert execute(program(*calls), HAND_MADE) == answer


@pytest.mark.parametrize("word", ["red", "green"])
def test_unique_of_two_or_none_has_no_answer(word: str) -> None:
    with pytest.raises(InvalidProgram, match="exactly one object"):
        execute(program("scene", f"filter_color {word}", "unique", "query_size"), HAND_MADE)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((), "1 to 128 steps"),
        ((Step("scene"),) * 129, "1 to 128 steps"),
        ((Step("scene"),), "not an answer"),
        ((Step("scene"), Step("filter_colour", (0,), ("red",))), "did you mean 'filter_color'"),
        ((Step("scene"), Step("count", (1,))), "earlier steps only"),
        ((Step("scene"), Step("count", (-1,))), "earlier steps only"),
        ((Step("scene"), Step("count")), "it needs 1 of them"),
        ((Step("scene"), Step("count", (0, 0))), "it needs 1 of them"),
        ((Step("scene"), Step("query_size", (0,))), "needs a object, but step 0"),
        ((Step("scene"), Step("filter_color", (0,)), Step("count", (1,))), "it needs one color"),
        ((Step("scene"), Step("count", (0,), ("red",))), "it needs none"),
        ((*program("scene", "unique"), Step("relate", (1,), ("above",)), Step("count", (2,))), "'above'"),
    ],
)
def test_malformed_programs_say_what_is_wrong(steps: Program, message: str) -> None:
    with pytest.raises(InputError, match=message):
        execute(steps, HAND_MADE)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"function": "scene"}, "expected a list"),
        ([1], "expected an object"),
        ([{"inputs": []}], "no 'function'"),
        ([{"function": "scene", "inputs": "01"}], "expected a list"),
        ([{"function": "scene", "inputs": [True]}], "whole number"),
        (
            [{"function": "scene"}, {"function": "filter_color", "inputs": [0], "value_inputs": [7]}],
            "a string",
        ),
        (
            [{"type": "scene"}, {"type": "filter_color", "inputs": [0], "side_inputs": ["pink"]}],
            "not an answer",
        ),
        ([{"function": "scene"}] * 4000, "1 to 128 steps"),
    ],
)
def test_malformed_json_says_what_is_wrong(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_from_json(data)


def test_values_are_those_of_the_vocabulary() -> None:
    data = program_to_json(program("scene", "filter_shape cone", "count"))
    with pytest.raises(InputError, match="'cone' is not known"):
        program_from_json(data)
    assert execute(program_from_json(data, CLEVR.introduce(CONE)), HAND_MADE) == "0"


def test_possible_answers() -> None:
    assert possible_answers(program("scene", "count")) == tuple(str(n) for n in range(11))
    assert possible_answers(program("scene", "exist")) == ("yes", "no")
    for attribute in ATTRIBUTES:
        assert possible_answers(program("scene", "unique", f"query_{attribute}")) == CLEVR.values(attribute)
    assert "cone" in possible_answers(program("scene", "unique", "query_shape"), CLEVR.introduce(CONE))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any well-formed program: each step takes earlier steps that give what it needs."""
    steps: list[Step] = [Step("scene")]
    gives = [FUNCTIONS["scene"].gives]
    for _ in range(draw(st.integers(1, 12))):
        usable = [f for f in FUNCTIONS.values() if set(f.takes) <= set(gives)]
        function = draw(st.sampled_from(usable))
        inputs = tuple(
            draw(st.sampled_from([i for i, g in enumerate(gives) if g == t])) for t in function.takes
        )
        words = ("left", "front") if function.word == "relation" else CLEVR.values(function.word or "size")
        steps.append(Step(function.name, inputs, (draw(st.sampled_from(words)),) if function.word else ()))
        gives.append(function.gives)
    source = draw(st.sampled_from([i for i, g in enumerate(gives) if g == FUNCTIONS["scene"].gives]))
    return (*steps, Step("count", (source,)))


@given(programs(), st.booleans())
def test_json_gives_the_program_back(steps: Program, is_generator_spelling: bool) -> None:
    data = program_to_json(steps)
    if is_generator_spelling:
        names = {"function": "type", "inputs": "inputs", "value_inputs": "side_inputs"}
        data = [{names[key]: value for key, value in step.items()} for step in data]
    assert program_from_json(data) == steps


@given(programs())
def test_any_well_formed_program_has_a_possible_answer_or_none(steps: Program) -> None:
    try:
        assert execute(steps, HAND_MADE) in possible_answers(steps)
    except InvalidProgram:
        assert any(step.function == "unique" for step in steps)


@pytest.mark.parametrize("name", ["train", "val"])
def test_every_official_question_at_hand(name: str) -> None:
    assert _disagreements(QUESTIONS.format(name)) == []


def test_every_closure_question_at_hand() -> None:
    assert _disagreements("CLEVR_v1.0/questions/CLOSURE_val_questions.json") == []


def test_left_for_right_is_caught() -> None:
    mirror = {"left": ("right",), "right": ("left",)}
    found = scenes_by_picture(OFFICIAL)
    questions = raw("CLEVR_v1.0/questions/CLOSURE_val_questions.json", "questions")
    wrong = 0
    for question in questions:
        steps = program_from_json(question["program"])
        steps = tuple(
            s._replace(value_inputs=mirror.get("".join(s.value_inputs), s.value_inputs)) for s in steps
        )
        wrong += _answer(steps, found[str(question["image_filename"])]) != question["answer"]
    assert wrong > 50


def _disagreements(name: str) -> list[str]:
    found = scenes_by_picture(OFFICIAL)
    questions = raw(name, "questions")
    assert questions
    answers = (
        (q, _answer(program_from_json(q["program"]), found[str(q["image_filename"])])) for q in questions
    )
    return [str(q["question"]) for q, answer in answers if answer != q["answer"]]


def _answer(steps: Program, scene: Scene) -> str:
    try:
        return execute(steps, scene)
    except InvalidProgram:
        return "__INVALID__"


def test_every_generated_question() -> None:
    """882 of these programs lack words; any word that gives the recorded output of its step will do."""
    found = scenes_by_picture(GENERATED[:1])
    questions = raw(GENERATED[1], "questions")
    assert len(questions) == 1160
    for question in questions:
        sets = scene_sets(found[str(question["image_filename"])])
        assert execute_on(_completed(question, sets), sets) == _text(question["answer"])


def _text(answer: object) -> str:
    return ("yes" if answer else "no") if isinstance(answer, bool) else str(answer)


def _completed(question: dict[str, object], sets: SceneSets) -> Program:
    """The question's program; every step, completed where its word is missing, gives its recorded output."""
    records = question["program"]
    assert isinstance(records, list)
    steps: Program = ()
    for record in records:
        step = Step(record["type"], tuple(record["inputs"]), tuple(record["value_inputs"]))
        choices = [(*steps, step._replace(value_inputs=words)) for words in _words(step)]
        fitting = [choice for choice in choices if _output(choice, sets) == record["_output"]]
        assert fitting, f"{question['question']}: no word for {record} gives the recorded output"
        steps = fitting[0]
    return steps


def _words(step: Step) -> list[tuple[str, ...]]:
    word = FUNCTIONS[step.function].word
    if step.value_inputs or not word:
        return [step.value_inputs]
    values = ("left", "right", "front", "behind") if word == "relation" else CLEVR.values(word)
    return [(value,) for value in values]


def _output(steps: Program, sets: SceneSets) -> object:
    """What the last step gives, as the public generator records it: a set as a sorted list."""
    value = trace(steps, sets)[-1]
    if FUNCTIONS[steps[-1].function].gives == SET:
        assert isinstance(value, int)
        return [index for index in range(value.bit_length()) if value >> index & 1]
    return value
