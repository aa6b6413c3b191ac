"""A model by its name: unknown ones, files, and the user's own torch module."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest

from trex.clevr_models.catalog import load_model
from trex.clevr_models.fetch import NAMES
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.clevr_models.specs.relation_network import SPECS
from trex.foundation.errors import InputError

QUESTION = Question("How many cubes are there?", ())
MODULE = """
    import torch
    from torch import nn

    class Mean(nn.Module):
        def __init__(self, outputs):
            super().__init__()
            self.layer = nn.Linear(3, outputs)

        def forward(self, images):
            return self.layer(images.mean(dim=(2, 3)))

    def good(question):
        torch.manual_seed(len(question.text))
        return Mean(28)

    def named(question):
        model = Mean(2)
        model.labels = ("no", "yes")
        return model

    def narrow(question):
        return Mean(5)

    def unbatched(question):
        return nn.Flatten(0)

    def not_finite(question):
        model = Mean(28)
        nn.init.constant_(model.layer.bias, float("nan"))
        return model

    def no_module(question):
        return lambda images: images

    def fails(question):
        raise KeyError("weights")

    class Failing(nn.Module):
        def forward(self, images):
            raise RuntimeError("size mismatch")

    def fails_later(question):
        return Failing()

    number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_model_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)  # the current folder is searched
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_the_user_s_module_is_asked_through_its_factory(module: str) -> None:
    model = load_model(f"{module}:good")
    assert (model.name, model.input_size) == (f"{module}:good", None)
    bound = model.bind(QUESTION)
    rows = bound.log_probs(np.random.default_rng(1).random((3, 40, 60, 3), dtype=np.float32))
    assert bound.labels == ANSWERS and rows.shape == (3, 28) and rows.dtype == np.float64
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0, atol=1e-12)
    assert bound.log_probs(np.zeros((0, 40, 60, 3), dtype=np.float32)).shape == (0, 28)


def test_the_user_s_module_may_name_its_own_answers(module: str) -> None:
    bound = load_model(f"{module}:named").bind(QUESTION)
    assert bound.labels == ("no", "yes")
    assert bound.log_probs(np.zeros((1, 40, 60, 3), dtype=np.float32)).shape == (1, 2)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("narrow", r"returns torch.float32 \(2, 5\); it must return float logits \(2, 28\)"),
        ("unbatched", r"must return float logits"),
        ("not_finite", "not finite"),
        ("no_module", r"gives a function; its factory must return a torch\.nn\.Module"),
        ("fails", "KeyError: 'weights'"),
        ("fails_later", r"RuntimeError: size mismatch; it must take float32 \(2, 3, 80, 120\)"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_before_any_picture(
    module: str, factory: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_model(f"{module}:{factory}").bind(QUESTION)


def test_a_module_or_factory_that_is_not_there_is_named(module: str) -> None:
    with pytest.raises(InputError, match="cannot import module 'no_such_module': ModuleNotFoundError"):
        load_model("no_such_module:factory")
    with pytest.raises(InputError, match=r"has no function 'missing'; it has .*good"):
        load_model(f"{module}:missing")
    with pytest.raises(InputError, match="has no function 'number'"):
        load_model(f"{module}:number")


@pytest.mark.parametrize("spec", ["", "gpt", ":", "package:", ":factory", "relation-network:best"])
def test_an_unknown_spec_says_what_is_allowed(spec: str) -> None:
    with pytest.raises(InputError, match=r"relation-network|cannot import"):
        load_model(spec)


def test_every_released_relation_network_can_be_named() -> None:
    assert {*NAMES} < {*SPECS}


def test_a_pickled_checkpoint_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pickled checkpoint"):
        load_model(str(tmp_path / "model.pth"))
    with pytest.raises(InputError, match="is missing"):
        load_model(str(tmp_path / "model.safetensors"))
