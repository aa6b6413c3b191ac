"""The 90 question families: CLEVR's programs, rules that hold, answers that are true and balanced."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tests.references.official_clevr import raw
from tests.references.scene_strategies import random_scene, scenes
from tests.references.statistics import ALPHA
from trex.scenes.questions import families
from trex.scenes.questions import program_builder as drafts
from trex.scenes.questions.bitsets import scene_sets
from trex.scenes.questions.families import FAMILIES, Family, random_question, random_questions
from trex.scenes.questions.filters import FILTER_ORDER, Option, world_of
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import (
    InvalidProgram,
    Program,
    Step,
    execute,
    execute_on,
    possible_answers,
    trace,
)
from trex.scenes.scene import ATTRIBUTES, TAU, Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR, CONE

KINDS = {
    "compare_integer": 9,
    "comparison": 16,
    "three_hop": 6,
    "single_and": 5,
    "same_relate": 28,
    "single_or": 8,
    "one_hop": 6,
    "two_hop": 6,
    "zero_hop": 6,
}


def test_kinds_and_indices() -> None:
    assert [family.index for family in FAMILIES] == list(range(90))
    assert Counter(family.kind for family in FAMILIES) == KINDS
    assert list(dict.fromkeys(family.kind for family in FAMILIES)) == list(KINDS)
    assert len({family.name for family in FAMILIES}) == 90


def skeleton(program: Program) -> list[str]:
    """The program without its filters, and where each step's inputs lead without them."""
    kept = [at for at, step in enumerate(program) if not step.function.startswith("filter")]

    def source(at: int) -> int:
        return kept.index(at) if at in kept else source(program[at].inputs[0])

    return [f"{program[at].function}{[source(i) for i in program[at].inputs]}" for at in kept]


@pytest.mark.parametrize("name", ["train", "val"])
def test_programs_are_built_like_the_official_ones(name: str) -> None:
    """Nothing but the filters differs between questions of a family."""
    rng = np.random.default_rng(3)
    for question in raw(f"CLEVR_v1.0/questions/CLEVR_{name}_questions.json", "questions"):
        index = question["question_family_index"]
        assert isinstance(index, int)
        drawn = _first(rng, FAMILIES[index])
        assert skeleton(drawn) == skeleton(program_from_json(question["program"])), FAMILIES[index].name


def _first(rng: np.random.Generator, family: Family) -> Program:
    for _ in range(50):
        drawn = random_question(rng, random_scene(rng, 7), family)
        if drawn is not None:
            return drawn[0]
    raise AssertionError(f"no question of {family.name} in 50 scenes")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_rules_hold_in_every_family(family: Family) -> None:
    check_rules(family, seed=family.index, n_scenes=15)


def check_rules(family: Family, seed: int, n_scenes: int) -> None:
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(n_scenes):
        scene = random_scene(rng, int(rng.integers(3, 11)))
        drawn = random_question(rng, scene, family)
        if drawn is None:
            continue
        found += 1
        program, answer = drawn
        assert answer == execute(program, scene)
        assert answer in possible_answers(program)
        _check_relations_matter(family, program, scene)
        _check_answer_is_not_said(program)
        _check_compared_differ(family, program, scene)
        _check_order_of_filters(program)
    assert found > n_scenes // 4


def _check_relations_matter(family: Family, program: Program, scene: Scene) -> None:
    sets = scene_sets(scene)
    for at, step in enumerate(program):
        if step.function != "relate":
            continue
        without = (*program[:at], Step("scene"), *program[at + 1 :])
        if family.kind == "single_and":
            assert _answer(without, scene) != execute(program, scene)
        else:
            last = _end_of_filters(program, at)
            assert trace(without[: last + 1], sets)[last] != trace(program[: last + 1], sets)[last]


def _end_of_filters(program: Program, at: int) -> int:
    while program[at + 1].function.startswith("filter") and program[at + 1].inputs == (at,):
        at += 1
    return at


def _answer(program: Program, scene: Scene) -> str:
    try:
        return execute(program, scene)
    except InvalidProgram:
        return "__INVALID__"


def _said(program: Program, at: int) -> set[str]:
    """The attributes that the description right before a step names."""
    texts: set[str] = set()
    while program[at].inputs:
        at = program[at].inputs[0]
        if program[at].function.startswith("filter_"):
            texts.add(program[at].function.removeprefix("filter_"))
        elif program[at].function != "unique":
            break
    return texts


def _check_answer_is_not_said(program: Program) -> None:
    """Nor, where objects share or are compared by an attribute, its value."""
    for at, step in enumerate(program):
        kind, _, attribute = step.function.partition("_")
        if kind in ("query", "same"):
            assert attribute not in _said(program, at)
        if kind == "same":
            following = program[at + 1 : _end_of_filters(program, at) + 1]
            assert f"filter_{attribute}" not in {later.function for later in following}


def _check_compared_differ(family: Family, program: Program, scene: Scene) -> None:
    values = trace(program, scene_sets(scene))
    if family.kind == "comparison":
        objects = [values[step.inputs[0]] for step in program if step.function.startswith("query")]
        assert len(set(objects)) == 2
    if family.kind in ("compare_integer", "single_or"):
        last = [step for step in program if len(step.inputs) == 2][-1]
        number, other = (at if family.kind == "single_or" else program[at].inputs[0] for at in last.inputs)
        assert values[number] != values[other] or values[number] == 0


def _check_order_of_filters(program: Program) -> None:
    for at, step in enumerate(program):
        for source in step.inputs:
            before, after = (_filter(program[i]) for i in (source, at))
            if (
                before is not None
                and after is not None
                and not program[source - 1].function.startswith("union")
            ):
                assert before < after


def _filter(step: Step) -> int | None:
    name = step.function.removeprefix("filter_")
    return FILTER_ORDER.index(name) if name != step.function else None


def test_a_relation_that_does_not_matter_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: as the public generator does now and then, also descriptions that need no relation."""
    monkeypatch.setattr(drafts, "_matches_one_there", drafts._matches_one_of)
    with pytest.raises(AssertionError):
        check_rules(FAMILIES[75], seed=0, n_scenes=50)


def test_saying_the_answer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def talkative(self: drafts.Draft, among: int, silent: int = 0) -> list[Option]:
        return [o for o in self.world.options if (o.fits & among).bit_count() == 1]

    monkeypatch.setattr(drafts.Draft, "fitting_one", talkative)
    with pytest.raises(AssertionError):
        check_rules(FAMILIES[88], seed=0, n_scenes=50)


def _share_of_yes(family: Family, n: int) -> tuple[int, int]:
    rng = np.random.default_rng(11)
    answers = [random_question(rng, random_scene(rng, 6), family) for _ in range(n)]
    given_answers = [drawn[1] for drawn in answers if drawn is not None]
    return given_answers.count("yes"), len(given_answers)


BALANCED = (
    "zero_hop/exist",
    "one_hop/exist",
    "two_hop/exist",
    "compare_integer/less_than",
    "comparison/size",
)


@pytest.mark.parametrize("name", BALANCED)
def test_yes_and_no_are_equally_frequent(name: str) -> None:
    """Within 15 points of one half: what one scene cannot give (no two of a size) may cost some."""
    yes, n = _share_of_yes(next(f for f in FAMILIES if f.name == name), 200)
    assert binom.cdf(yes, n, 0.35) > ALPHA
    assert binom.sf(yes - 1, n, 0.65) > ALPHA


def test_answers_that_are_not_balanced_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "YES_NO", ("no", "no"))
    with pytest.raises(AssertionError):
        test_yes_and_no_are_equally_frequent("zero_hop/exist")


@settings(max_examples=40)
@given(scenes(CLEVR.introduce(CONE)), st.integers(0, 2**32))
def test_any_scene_gives_true_questions_or_none(scene: Scene, seed: int) -> None:
    """Also an empty scene, or one with a shape of one's own."""
    vocabulary = CLEVR.introduce(CONE)
    questions = random_questions(np.random.default_rng(seed), scene, 5, vocabulary=vocabulary)
    assert len(questions) <= 5
    assert len({question.program for question in questions}) == len(questions)
    for question in questions:
        assert question.answer == execute_on(question.program, scene_sets(scene))
        assert question.answer in possible_answers(question.program, vocabulary)


def test_same_seed_same_questions_in_other_families_each() -> None:
    scene = random_scene(np.random.default_rng(0), 8)
    questions = [random_questions(np.random.default_rng(5), scene, 20) for _ in range(2)]
    assert questions[0] == questions[1]
    assert len({question.family for question in questions[0]}) == 20


def test_weights_say_which_families_come() -> None:
    scene = random_scene(np.random.default_rng(0), 8)
    weights = [1.0 if family.kind == "zero_hop" else 0.0 for family in FAMILIES]
    questions = random_questions(np.random.default_rng(5), scene, 12, weights)
    assert {question.family.kind for question in questions} == {"zero_hop"}
    assert len(questions) == 12


def test_one_word_descriptions_are_frequent() -> None:
    """Unlike in the public generator: "How many cubes are there?" is the question most asked here."""
    rng = np.random.default_rng(2)
    programs = [random_question(rng, random_scene(rng, 6), FAMILIES[84]) for _ in range(200)]
    lengths = Counter(len(drawn[0]) - 2 for drawn in programs if drawn is not None)
    assert all(lengths[words] > 20 for words in (1, 2, 3, 4))


def test_world_knows_every_description_that_fits() -> None:
    scene = Scene((SceneObject("cube", "large", "red", "metal", 0.0, 0.0, TAU / 3),), Nuisances())
    options = world_of(scene, CLEVR).options
    assert len(options) == 2 ** len(ATTRIBUTES)
    assert all(option.fits == 1 for option in options)
