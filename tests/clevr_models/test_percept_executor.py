"""The soft executor against the exact one, against brute force, and on the edges of what floats can hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch

from tests.clevr_models.percept_worlds import chain, perfect_table, random_table
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import ATTRIBUTE_VALUES, FUNCTION_WORDS, check_readable
from trex.clevr_models.percept import soft_program
from trex.clevr_models.percept.network import ObjectTable
from trex.clevr_models.percept.soft_program import FLOOR, answer_log_probs, answer_probs, count_distribution
from trex.foundation.errors import InputError
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.families import FAMILIES, random_question
from trex.scenes.questions.functions import BOOL, FUNCTIONS, SET
from trex.scenes.questions.programs import Program, Step

SCENES = 6
COLOR = "red"


class Asked(NamedTuple):
    """A question, its true answer, and the perfect table of the scene that it is about."""

    table: ObjectTable
    program: Program
    answer: str


@lru_cache
def asked() -> tuple[Asked, ...]:
    """Questions of all 90 families about scenes of the prior."""
    rng = np.random.default_rng(20260)
    found = []
    for _ in range(SCENES):
        scene = ScenePrior().sample(rng)
        table = perfect_table(scene)
        for family in FAMILIES:
            question = random_question(rng, scene, family)
            if question is not None:
                found.append(Asked(table, question[0], question[1]))
    return tuple(found)


def mistakes(function: str = "scene") -> Iterator[Asked]:
    """Questions with this function that the soft executor, given perfect tables, gets wrong or doubts."""
    for question in asked():
        if any(step.function == function for step in question.program):
            probs = answer_probs(question.table, question.program)[0]
            if probs[ANSWERS.index(question.answer)] < 0.999:
                yield question


@pytest.mark.slow
def test_perfect_sight_gives_true_answers_in_all_families() -> None:
    assert {step.function for question in asked() for step in question.program} == set(FUNCTION_WORDS)
    assert len(asked()) > 300
    assert list(mistakes()) == []


@pytest.mark.slow
@pytest.mark.parametrize("function", sorted(set(FUNCTION_WORDS) - {"scene", "unique", "exist", "count"}))
def test_a_wrong_function_is_noticed(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = soft_program.OPERATIONS[function]
    truth = FUNCTIONS[function].gives in (BOOL, SET)

    def lies(table: ObjectTable, arguments: list[torch.Tensor], value: int) -> torch.Tensor:
        result = honest(table, arguments, value)
        return 1.0 - result if truth else result.roll(1, dims=1)

    monkeypatch.setitem(soft_program.OPERATIONS, function, lies)
    assert next(mistakes(function))


@pytest.mark.parametrize("events", [1, 5, 12])
def test_counts_equal_enumeration(events: int) -> None:
    chances = torch.rand(events, generator=torch.Generator().manual_seed(events), dtype=torch.float64)
    wanted = np.zeros(11)
    for outcome in product((0, 1), repeat=events):
        wanted[min(sum(outcome), 10)] += np.prod(
            [p if o else 1 - p for p, o in zip(chances.numpy(), outcome, strict=True)]
        )
    assert np.allclose(count_distribution(chances[None])[0].numpy(), wanted, atol=1e-12)


def worlds(table: ObjectTable) -> Iterator[tuple[float, list[tuple[int, int]]]]:
    """Every world that a table of few rows allows: its chance, and (color, shape) of the objects present."""
    rows = table.presence.shape[1]
    options: list[list[tuple[float, tuple[int, int] | None]]] = []
    for row in range(rows):
        here = float(table.presence[0, row])
        states: list[tuple[float, tuple[int, int] | None]] = [(1.0 - here, None)]
        for c, s in product(range(8), range(3)):
            states.append((here * float(table.color[0, row, c]) * float(table.shape[0, row, s]), (c, s)))
        options.append(states)
    for combination in product(*options):
        chance = float(np.prod([p for p, _ in combination]))
        yield chance, [state for _, state in combination if state is not None]


def enumerated(table: ObjectTable) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Exact answers: how many red cubes; is there one; if exactly one thing is red, its shape."""
    red = ATTRIBUTE_VALUES["color"].index(COLOR)
    answers = {name: np.zeros(len(ANSWERS)) for name in ("count", "exist", "query")}
    for chance, objects in worlds(table):
        both = sum(state == (red, 0) for state in objects)
        answers["count"][ANSWERS.index(str(both))] += chance
        answers["exist"][ANSWERS.index("yes" if both else "no")] += chance
        reds = [shape for color, shape in objects if color == red]
        if len(reds) == 1:
            answers["query"][ANSWERS.index(ATTRIBUTE_VALUES["shape"][reds[0]])] += chance
    answers["query"] /= answers["query"].sum()
    return answers


PROGRAMS = {
    "count": chain("scene", "filter_color red", "filter_shape cube", "count"),
    "exist": chain("scene", "filter_color red", "filter_shape cube", "exist"),
    "query": chain("scene", "filter_color red", "unique", "query_shape"),
}


def off_enumeration(name: str) -> float:
    """The largest difference from enumeration over all answers."""
    table = random_table(11, 3)
    return float(np.abs(answer_probs(table, PROGRAMS[name])[0].numpy() - enumerated(table)[name]).max())


@pytest.mark.parametrize("name", PROGRAMS)
def test_doubts_equal_enumeration_of_all_worlds(name: str) -> None:
    assert off_enumeration(name) < 1e-9


def _exist_by_maximum(table: ObjectTable, arguments: list[torch.Tensor], _: int) -> torch.Tensor:
    return (arguments[0] * table.presence).amax(dim=1)


def _unique_by_share(table: ObjectTable, arguments: list[torch.Tensor], _: int) -> torch.Tensor:
    chances = arguments[0] * table.presence
    return chances / chances.sum(dim=1, keepdim=True)


def _count_by_rounding(table: ObjectTable, arguments: list[torch.Tensor], _: int) -> torch.Tensor:
    number = (arguments[0] * table.presence).sum(dim=1).round().long()
    return torch.nn.functional.one_hot(number, 11).double()


@pytest.mark.parametrize(
    ("name", "function", "planted"),
    [
        ("exist", "exist", _exist_by_maximum),
        ("query", "unique", _unique_by_share),
        ("count", "count", _count_by_rounding),
    ],
)
def test_planted_bug_is_caught(
    name: str, function: str, planted: soft_program.Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(soft_program.OPERATIONS, function, planted)
    assert off_enumeration(name) > 1e-3


def test_probabilities_sum_to_one_and_gradients_are_finite() -> None:
    programs = {question.program[-1].function: question.program for question in asked()}
    for seed, program in enumerate(programs.values()):
        table = random_table(seed, 24, batch=3)
        leaves = [field.requires_grad_() for field in table[:5]]
        logs = answer_log_probs(table, program)
        assert torch.allclose(logs.exp().sum(dim=1), torch.ones(3, dtype=torch.float64), atol=1e-12)
        assert logs.min() >= np.log(FLOOR) - 1e-9
        grads = torch.autograd.grad(logs.sum(), leaves, allow_unused=True)
        assert all(torch.isfinite(g).all() for g in grads if g is not None)


@pytest.mark.parametrize("presence", [0.0, 1.0])
def test_certainty_and_emptiness_stay_finite(presence: float) -> None:
    table = random_table(5, 24)._replace(
        presence=torch.full((1, 24), presence, dtype=torch.float64).requires_grad_()
    )
    for program in PROGRAMS.values():
        logs = answer_log_probs(table, program)
        (grad,) = torch.autograd.grad(logs.sum(), [table.presence])
        assert torch.isfinite(logs).all() and torch.isfinite(grad).all()


def test_gradient_equals_finite_differences() -> None:
    table = random_table(9, 5)

    def logs(presence: torch.Tensor, color: torch.Tensor) -> torch.Tensor:
        answer = answer_log_probs(table._replace(presence=presence, color=color), PROGRAMS["query"])
        return answer[:, ANSWERS.index("cube")]

    inputs = (table.presence.requires_grad_(), table.color.requires_grad_())
    assert torch.autograd.gradcheck(logs, inputs, atol=1e-6)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ((), "1 to 128 steps"),
        (chain("scene", "filter_color red"), "not an answer"),
        (chain("scene", "filter_colour red", "count"), "did you mean 'filter_color'"),
        (chain("scene", "filter_color pink", "count"), "asks for 'pink', and the model has words for gray"),
        (chain("scene", "filter_color", "count"), "it needs one color"),
        (chain("scene", "count now"), "it needs none"),
        (chain("scene", "query_shape"), "needs a object"),
        ((Step("scene"), Step("count", (1,))), "uses step 1"),
    ],
)
def test_senseless_programs_are_refused(program: Program, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_readable(program)
