"""A run names the model that was asked: a world that brings its own classifier takes no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import trex
from tests.running import command_line, digit_runs
from tests.running.runs import write_query
from tests.worlds import toy_disk
from tests.worlds.live_models import Redness, uniform
from trex.clevr_models.interface.question import Question
from trex.query.schema import Query

OWN = "tests.worlds.toy_disk:disk"
ASKED: dict[str, Any] = {
    "answer": "far", "target": "threshold", "threshold": 0.9, "prior_scenes": 8, "further": 0, "chains": 1, "steps": 2,
    "control": False,
}  # fmt: skip


def asked(world: str, model: object) -> dict[str, Any]:
    return {**ASKED, "generator": world, "model": model}


class Counting:
    """A callable that counts its pictures."""

    labels = ("near", "far")

    def __init__(self) -> None:
        self.pictures = 0

    def __call__(self, pictures: NDArray[np.float32], *question: Question) -> NDArray[np.float64]:
        self.pictures += len(pictures)
        far = pictures.mean(axis=(1, 2, 3)).astype(np.float64)
        return np.stack([1 - far, far], axis=1)


@pytest.mark.parametrize("world", [OWN, "tests.worlds.model_worlds:wraps"])
@pytest.mark.parametrize("model", [Redness(), uniform, "fake", "tests.worlds.live_models:redness"])
def test_a_model_that_would_not_be_asked_is_refused(world: str, model: object, tmp_path: Path) -> None:
    """Planted bug: the run, its query and its page named a model that was never called."""
    for call in (trex.check, lambda **given: trex.find(out=tmp_path / "run", progress=False, **given)):
        with pytest.raises(
            trex.InputError, match=r"has a classifier of its own \('disk'\) and would not ask model '"
        ):
            call(**asked(world, model))
    assert not (tmp_path / "run").exists()


def test_so_it_is_from_the_shell_and_in_a_query_file(tmp_path: Path) -> None:
    plain = write_query(tmp_path, toy_disk.QUERY)
    named = tmp_path / "named.toml"
    named.write_text(toy_disk.QUERY + '[model]\nname = "onnx:mine.onnx"\n')
    for words in ((plain, "--model", "fake"), (plain, "--set", "model.name=fake"), (named,)):
        for command in ("check", "find"):
            done = command_line.trex(command, *words)
            assert done.exit_code == 2 and "leave the model out" in done.stderr, done.output
    assert command_line.trex("check", plain).exit_code == 0  # which is what the error says to do


def test_an_object_that_a_world_only_names_is_refused() -> None:
    with pytest.raises(trex.InputError, match="would not ask model 'live:"):
        trex.check(**asked("tests.worlds.model_worlds:claims", Counting()))


@pytest.mark.parametrize("how", ["opens", "takes"])
def test_a_world_that_asks_the_model_is_searched_with_it(how: str, tmp_path: Path) -> None:
    model = Counting()
    found = trex.find(
        out=tmp_path / "run", progress=False, **asked(f"tests.worlds.model_worlds:{how}", model)
    )
    assert model.pictures >= len(found.records)
    assert type(found.query) is Query and found.query.model.name.startswith("live:")
    assert found.manifest.facts.model == found.query.model.name
    again = trex.find(out=found.path, progress=False, **asked(f"tests.worlds.model_worlds:{how}", model))
    assert again.path == found.path


def test_a_world_with_models_of_its_own_is_asked_by_name() -> None:
    world = "tests.worlds.model_worlds:chooses"
    assert trex.check(**asked(world, "other")).model == "other"
    assert trex.check(**asked(world, "shipped")).model == "shipped"


def test_a_page_names_the_classifier_of_a_world_that_brings_one(tmp_path: Path) -> None:
    """Planted bug: it said "the shipped model"."""
    keywords: dict[str, Any] = {**ASKED, "generator": OWN}
    run = trex.find(out=tmp_path / "run", progress=False, **keywords)
    assert "model disk," in repr(run) and "Model: disk" in run._repr_html_()
    page = (run.path / "report.html").read_text()
    assert "shipped model" not in page and "disk" in page
    assert "model     disk\n" in f"{trex.check(**keywords)}\n"


@pytest.mark.parametrize(
    "spec", ["fake", "shipped.onnx", "tests.worlds.live_models:redness", "onnx:m.onnx", "hf:a/b"]
)
def test_the_shipped_digit_worlds_ask_the_model_or_refuse_it(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digit_runs.save_models(tmp_path / "cache", monkeypatch)
    query: dict[str, Any] = {"generator": "mnist-vae", "answer": ["1", "7"], "target": "ambiguous"}
    assert trex.check(**query, model="mnist-classifier").model == "mnist-classifier"
    with pytest.raises(trex.InputError, match=r"digit model .* is neither shipped nor in"):
        trex.check(**query, model=spec)


def test_a_live_digit_classifier_that_gives_probabilities_or_one_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from trex.mnist_models.load import load_classifier

    digit_runs.save_models(tmp_path / "cache", monkeypatch)
    query: dict[str, Any] = {"generator": "mnist-vae", "answer": ["1", "7"], "target": "ambiguous"}
    module = load_classifier("mnist-classifier").module
    faults: list[tuple[Callable[[], torch.nn.Module], str]] = [
        (lambda: torch.nn.Sequential(module, torch.nn.Softmax(dim=1)), "looks like probabilities"),
        (lambda: torch.nn.Sequential(module, torch.nn.LogSoftmax(dim=1)), ""),
    ]
    for make, message in faults:
        if message:
            with pytest.raises(trex.InputError, match=message):
                trex.check(**query, model=make())
        else:
            assert trex.check(**query, model=make()).model
    named = torch.nn.Sequential(module)
    named.labels = {str(i) for i in range(10)}  # type: ignore[assignment]
    with pytest.raises(trex.InputError, match="its labels are set"):
        trex.check(**query, model=named)
