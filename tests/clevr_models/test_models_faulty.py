"""Faults inside a model that somebody else wrote: each ends in one line that names the model."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tests.references.onnx_files import mean_colors
from tests.running.command_line import trex
from trex.clevr_models.adapters.callable_model import AdaptedModel, error_text
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError

QUESTION = Question("How many cubes are there?", ())
MODULE = """
    import sys
    import torch
    from torch import nn

    class Mean(nn.Module):
        def __init__(self, labels=("no", "yes")):
            super().__init__()
            self.layer = nn.Linear(3, 2)
            if labels is not None:
                self.labels = labels

        def forward(self, images):
            return self.layer(images.mean(dim=(2, 3)))

    class Squeezes(Mean):
        def forward(self, images):
            return super().forward(images).squeeze()

    class Small(Mean):
        def forward(self, images):
            assert images.shape[2] <= 80, "Missing key(s):\\n\\t" + "x" * 5000
            return super().forward(images)

    class Exits(Mean):
        def forward(self, images):
            sys.exit("usage: mymodel")

    class BrightIsNan(Mean):
        def forward(self, images):
            is_bright = images.min() == 1  # neither probe picture is
            return super().forward(images) / (~is_bright) * (0 if is_bright else 1)

    class Drops(Mean):
        def forward(self, images):
            return nn.functional.dropout(super().forward(images) + torch.rand(2), training=True)

    def drops(question): return Drops()
    def good(question): return Mean()
    def squeezes(question): return Squeezes()
    def small(question): return Small()
    def exits(question): return Exits()
    def nan_later(question): return BrightIsNan()
    def quits(question): sys.exit(3)
    def twice(question): return Mean(("yes", "yes"))
    def word(question): return Mean("yes")
    def number(question): return Mean(3)
    def control(question): return Mean(("no", "\\x1b[2J"))
    instance = Mean()

    class Answers:
        def __call__(self, pictures, question):
            raise ValueError("two\\nlines \\x1b[2J")
    answers = Answers()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"faulty_model_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    (tmp_path / f"{name}_script.py").write_text("raise SystemExit('usage: script')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def bright(height: int = 80) -> np.typing.NDArray[np.float32]:
    return np.ones((1, height, height * 3 // 2, 3), np.float32)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("squeezes", r"another shape for one picture than for two: it must return logits \(1, 2\)"),
        ("exits", "fails on a picture: SystemExit: usage: mymodel"),
        ("quits", "fails for 'How many cubes are there\\?': SystemExit: 3"),
        ("twice", "name an answer twice"),
        ("drops", "gives two different answers to the same picture"),
        ("word", "its labels are str"),
        ("number", "its labels are int"),
        ("control", r"names the answer .*\\x1b.*printable"),
        ("instance", "is a torch.nn.Module; name a function"),
    ],
)
def test_a_faulty_module_is_refused_before_any_picture(module: str, attribute: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_model(f"{module}:{attribute}").bind(QUESTION)
    assert module in str(caught.value) and str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("small", r"fails on a picture of 240x160: AssertionError: Missing key\(s\): x+ \.\.\. x+$"),
        ("nan_later", "returns values that are not finite on a picture of 240x160"),
    ],
)
def test_a_module_that_fails_on_a_later_picture_is_named_in_one_line(
    module: str, attribute: str, message: str
) -> None:
    bound = load_model(f"{module}:{attribute}").bind(QUESTION)
    with pytest.raises(ModelError, match=message) as caught:
        bound.log_probs(bright(160))
    assert module in str(caught.value) and len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_a_script_that_ends_the_program_when_it_is_imported_is_an_error(module: str) -> None:
    with pytest.raises(InputError, match=r"cannot import module .*: SystemExit: usage: script"):
        load_model(f"{module}_script:factory")


def test_a_class_is_no_answerer(module: str) -> None:
    with pytest.raises(InputError, match="is a class; name an instance"):
        load_model(f"ask:{module}:Answers")
    with pytest.raises(InputError, match="fails on a probe picture: ValueError") as caught:
        load_model(f"ask:{module}:answers").bind(QUESTION)
    assert str(caught.value).isprintable()


def test_an_error_that_cannot_be_printed_is_still_told() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert error_text(Mute()) == "Mute: unprintable error"


def test_a_model_may_write_into_the_pictures_that_it_gets() -> None:
    def halves(pictures: np.typing.NDArray[np.float32], question: Question) -> object:
        pictures *= 0.0  # such as a normalization in place
        return np.full((len(pictures), 28), 1 / 28)

    given = bright()
    AdaptedModel("ask:mine", halves).bind(QUESTION).log_probs(given)  # type: ignore[arg-type]
    assert (given == 1).all()


@pytest.mark.parametrize(
    "card", ['{"labels": [' * 60_000, '{"length": ' + "9" * 5000 + "}", "null", "\udcff"]
)
def test_a_damaged_card_of_an_onnx_file_is_one_line(card: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    (tmp_path / "model.onnx").write_bytes(mean_colors())
    (tmp_path / "model.json").write_bytes(card.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"card .*model\.json") as caught:
        load_model(f"onnx:{tmp_path}/model.onnx")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("place", ["model.onnx", "model.json"])
def test_a_pipe_in_place_of_an_onnx_file_or_card_is_not_waited_for(place: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    (tmp_path / "model.onnx").write_bytes(mean_colors())
    (tmp_path / "model.json").write_text('{"labels": ["a", "b"]}', encoding="utf-8")
    (tmp_path / place).unlink()
    os.mkfifo(tmp_path / place)
    with pytest.raises(TrexError, match="is a pipe, not a file"):
        load_model(f"onnx:{tmp_path}/model.onnx")


def test_check_ends_with_code_2_if_the_model_ends_the_program(module: str, tmp_path: Path) -> None:
    query = tmp_path / "query.toml"
    query.write_text('question = "How many cubes are there?"\nanswer = "1"\n', encoding="utf-8")
    for spec in (f"{module}:quits", f"{module}:exits", f"{module}_script:factory"):
        done = trex("check", query, "--model", spec)
        assert done.exit_code == 2 and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
