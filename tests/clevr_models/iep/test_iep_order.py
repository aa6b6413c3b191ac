"""Execution order and argument order of the module network, on an engine whose weights are arithmetic.

Its first channel carries a number: `scene` gives the picture's, filters what is red or blue in it, `unique` adds one,
`relate[left]` doubles, and less_than and greater_than tell which of two is the larger.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.references.iep_reference import VOCABULARY, engine_shapes
from trex.clevr_models.iep.checkpoint import build, fill
from trex.clevr_models.iep.networks import ExecutionEngine
from trex.clevr_models.iep.sizes import EngineSizes
from trex.clevr_models.iep.vocabulary import Call, calls_of

SIZES = EngineSizes(feature_dim=(3, 2, 2), module_dim=3, classifier_proj_dim=3, classifier_fc_layers=(3,))
SETTINGS = {"feature_dim": (3, 2, 2), "module_dim": 3, "classifier_proj_dim": 3, "classifier_fc_layers": (3,)}
YES, NO = VOCABULARY.answers.index("yes"), VOCABULARY.answers.index("no")
ALL, RED, BLUE = 0, 1, 2  # channels


def arithmetic_engine() -> ExecutionEngine:
    state = {name: torch.zeros(shape) for name, shape in engine_shapes(SETTINGS).items()}
    identity = torch.eye(3)
    for layer in ("stem.0", "stem.2"):
        state[f"{layer}.weight"][:, :, 1, 1] = identity
    for color, channel in (
        ("red", RED),
        ("blue", BLUE),
    ):  # 0 becomes that channel: add it, take away what was there
        state[f"filter_color[{color}].conv1.weight"][:, :, 1, 1] = identity
        state[f"filter_color[{color}].conv2.weight"][ALL, channel, 1, 1] = 1.0
        state[f"filter_color[{color}].conv2.weight"][ALL, ALL, 1, 1] = -1.0
    state["unique.conv2.bias"][ALL] = 1.0
    for name in ("conv1", "conv2"):
        state[f"relate[left].{name}.weight"][ALL, ALL, 1, 1] = 1.0
    for name, sign in (("less_than", 1.0), ("greater_than", -1.0)):
        proj = state[f"{name}.proj.weight"]  # (3, 6, 1, 1): the first argument's channels, then the second's
        proj[RED, [0, 3], 0, 0] = torch.tensor([-sign, sign])  # how much it is so
        proj[BLUE, [0, 3], 0, 0] = torch.tensor([sign, -sign])
    state["union.proj.weight"][ALL, [0, 3], 0, 0] = torch.tensor([1.0, 10.0])
    state["classifier.0.weight"][:, :, 0, 0] = identity
    state["classifier.4.weight"][:] = identity
    state["classifier.6.weight"][YES, RED] = state["classifier.6.weight"][NO, BLUE] = 1.0
    network = fill(lambda: build(SIZES, VOCABULARY), state, Path("arithmetic.pt"))
    assert isinstance(network, ExecutionEngine)
    return network


ENGINE = arithmetic_engine()


def picture(everything: float, red: float, blue: float) -> Tensor:
    return torch.tensor([everything, red, blue])[None, :, None, None].expand(1, 3, 2, 2)


def number(tokens: list[str], values: tuple[float, float, float]) -> float:
    """What a prefix program gives by arithmetic, straight from its tokens."""
    token = tokens.pop(0)
    if token == "scene":
        return values[ALL]
    first = number(tokens, values)
    match token:
        case "filter_color[red]":
            return values[RED]
        case "filter_color[blue]":
            return values[BLUE]
        case "unique":
            return first + 1
        case "relate[left]":
            return 2 * first
        case "union":
            return first + 10 * number(tokens, values)
    return first


FILTERED = st.sampled_from([["scene"], ["filter_color[red]", "scene"], ["filter_color[blue]", "scene"]])
NUMBERS = st.recursive(
    FILTERED,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["unique", "relate[left]", "count"]), inner).map(lambda t: [t[0], *t[1]]),
        st.tuples(inner, inner).map(lambda t: ["union", *t[0], *t[1]]),
    ),
    max_leaves=4,
)


@torch.no_grad()
@settings(max_examples=60)
@given(NUMBERS)
def test_modules_run_in_the_order_of_the_program(tokens: list[str]) -> None:
    values = (1.0, 2.0, 5.0)
    found = ENGINE.run(picture(*values), calls_of(tokens))
    assert float(found[0, ALL, 0, 0]) == pytest.approx(number(list(tokens), values))


def test_the_order_of_two_modules_matters_to_this_engine() -> None:
    after, before = (["unique", "relate[left]", "scene"], ["relate[left]", "unique", "scene"])
    gives = [
        float(ENGINE.run(picture(3.0, 0.0, 0.0), calls_of(tokens))[0, ALL, 0, 0])
        for tokens in (after, before)
    ]
    assert gives == [7.0, 8.0]  # 2 x 3 + 1, 2 x (3 + 1): the last token of a prefix program runs first


def answer(calls: tuple[Call, ...], values: tuple[float, float, float]) -> str:
    logits = ENGINE(picture(*values), calls)[0]
    return "yes" if logits[YES] > logits[NO] else "no"


@torch.no_grad()
@pytest.mark.parametrize(("red", "blue"), [(1.0, 3.0), (4.0, 2.0)])
@pytest.mark.parametrize("function", ["less_than", "greater_than"])
def test_the_first_argument_is_the_first(function: str, red: float, blue: float) -> None:
    tokens = [function, "count", "filter_color[red]", "scene", "count", "filter_color[blue]", "scene"]
    calls = calls_of(tokens)
    truth = red < blue if function == "less_than" else red > blue
    assert answer(calls, (9.0, red, blue)) == ("yes" if truth else "no")
    swapped = (*calls[:-1], Call(function, calls[-1].inputs[::-1]))  # planted: arguments the other way round
    assert answer(swapped, (9.0, red, blue)) == ("no" if truth else "yes")
