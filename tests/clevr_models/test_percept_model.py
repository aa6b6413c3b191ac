"""The shipped model as a classifier: its contract, its weights file, and what it says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.clevr_models.percept_worlds import chain
from trex.artifacts.card import read_card
from trex.artifacts.weights import compact, write_safetensors
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.clevr_models.percept.model import SHIPPED, Percept, PerceptModel, load_percept, load_shipped
from trex.clevr_models.percept.network import find_peaks
from trex.foundation.errors import InputError
from trex.worlds.fingerprint import model_fingerprint, weights_fingerprint

pytestmark = pytest.mark.usefixtures("one_thread")

CUBES = Question("How many cubes are there?", chain("scene", "filter_shape cube", "count"))
COLOR = Question("", chain("scene", "filter_shape cube", "unique", "query_color"))


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model's file, with presence turned up so that it sees things."""
    torch.manual_seed(4)
    percept = Percept()
    with torch.no_grad():
        for parameter in percept.network.head.parameters():
            parameter.add_(torch.randn_like(parameter))
    path = tmp_path_factory.mktemp("weights") / "some.safetensors"
    write_safetensors(path, compact(percept), {"model": "percept"})
    return path


@pytest.fixture(scope="module")
def model(weights: Path) -> PerceptModel:
    return load_percept(weights)


def pictures(count: int, height: int = 160, width: int = 240) -> NDArray[np.float32]:
    return np.random.default_rng(count).random((count, height, width, 3), np.float32)


@pytest.mark.parametrize("size", [(160, 240), (320, 480), (80, 120)])
def test_log_probs_are_float64_and_sum_to_one(model: PerceptModel, size: tuple[int, int]) -> None:
    bound = model.bind(CUBES)
    logs = bound.log_probs(pictures(2, *size))
    assert bound.labels == ANSWERS and logs.shape == (2, 28) and logs.dtype == np.float64
    assert np.allclose(np.exp(logs).sum(axis=1), 1.0, atol=1e-9)
    assert np.exp(logs[:, 11:]).max() < 1e-9  # a count is asked for


def test_two_files_have_two_names_and_no_name_is_part_of_a_fingerprint(weights: Path) -> None:
    """Planted bug: the shipped model and a file of one's own were both "percept" on pages and in suites."""
    own, moved = load_model(str(weights)), load_percept(weights, "moved.safetensors")
    assert (own.name, moved.name, load_model("shipped").name) == (
        str(weights),
        "moved.safetensors",
        "shipped",
    )
    known = {weights_fingerprint(each.name, each.bind(CUBES)) for each in (own, moved)}
    assert len(known) == 1 and known.pop().startswith("percept ")  # as runs of before recorded it
    assert model_fingerprint(own.name, own.bind(CUBES)) == model_fingerprint("percept", moved.bind(CUBES))


def test_a_row_does_not_depend_on_its_company(model: PerceptModel) -> None:
    three = pictures(3)
    together = model.bind(CUBES).log_probs(three)
    alone = np.concatenate([model.bind(CUBES).log_probs(three[i : i + 1]) for i in range(3)])
    assert np.array_equal(together, alone)
    assert not np.array_equal(together[0], together[1])


def test_perceive_once_answer_often(model: PerceptModel) -> None:
    table = model.perceive(pictures(2))
    for question in (CUBES, COLOR):
        direct = model.bind(question).log_probs(pictures(2))
        assert np.allclose(model.answer(table, question.program), direct, atol=1e-9)


@pytest.mark.parametrize("picture", ["noise", "black", "white"])
def test_gradients_reach_the_picture(model: PerceptModel, picture: str) -> None:
    pixels = {"noise": torch.rand(1, 3, 160, 240), "black": torch.zeros(1, 3, 160, 240)}
    x = pixels.get(picture, torch.ones(1, 3, 160, 240)).requires_grad_()
    logs = model.bind(COLOR).module(x)
    (grad,) = torch.autograd.grad(logs[0, ANSWERS.index("red")], [x])
    assert torch.isfinite(grad).all()
    assert picture != "noise" or grad.abs().max() > 0


def test_neighboring_peaks_count_once() -> None:
    maps = torch.zeros(1, 18, 40, 60)
    maps[:, 0] = -10.0
    for row, column, height in ((5, 5, 4.0), (5, 6, 3.0), (6, 6, 2.0), (20, 30, 1.0)):
        maps[0, 0, row, column] = height
    evidence = find_peaks(maps)
    assert evidence.presence[0, :2].tolist() == [4.0, 1.0]
    assert evidence.cell[0, :2].tolist() == [5 * 60 + 5, 20 * 60 + 30]
    assert evidence.presence[0, 2:].max() <= -10.0


def test_senseless_question_is_refused(model: PerceptModel) -> None:
    with pytest.raises(InputError, match="not an answer"):
        model.bind(Question("cubes", chain("scene", "filter_shape cube")))


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.safetensors"
    write_safetensors(path, {"layer": torch.zeros(2)}, {"model": "other"})
    with pytest.raises(InputError, match="Percept"):
        load_percept(path)


def test_shipped_model_keeps_its_promises() -> None:
    assert SHIPPED.stat().st_size <= 8_000_000
    figures = json.loads(json.dumps(read_card(SHIPPED)["figures"]))
    assert figures["scenes"] >= 1000
    accuracy = {name: share["share"] for name, share in figures["accuracy"].items()}
    queries = [share for name, share in accuracy.items() if name.startswith("query_")]
    assert accuracy["count"] >= 0.85 and accuracy["exist"] >= 0.92 and min(queries) >= 0.92
    logs = load_shipped().bind(CUBES).log_probs(np.full((1, 160, 240, 3), 0.5, np.float32))
    assert np.isfinite(logs).all()
