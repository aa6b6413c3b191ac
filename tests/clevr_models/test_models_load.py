"""A model by its name: unknown ones, files, and the user's own torch module."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from trex.clevr_models.catalog import load_model
from trex.clevr_models.fetch import NAMES
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.clevr_models.specs.ours import RELATIONS
from trex.foundation.errors import InputError
from trex.runs.manifest import answers_alike
from trex.worlds.fingerprint import model_fingerprint, probe_probabilities_of, tensor_hash

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
    assert model.name == f"{module}:good"
    bound = model.bind(QUESTION)
    rows = bound.log_probs(np.random.default_rng(1).random((3, 40, 60, 3), dtype=np.float32))
    assert bound.labels == ANSWERS and rows.shape == (3, 28) and rows.dtype == np.float64
    np.testing.assert_allclose(np.exp(rows).sum(axis=1), 1.0, atol=1e-12)
    assert bound.log_probs(np.zeros((0, 40, 60, 3), dtype=np.float32)).shape == (0, 28)


def test_a_misspelt_model_and_a_file_without_a_function_are_answered_with_what_is_meant(
    module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{module}.py").touch()
    with pytest.raises(InputError, match="'shiped' is not known; did you mean 'shipped'"):
        load_model("shiped")
    with pytest.raises(InputError, match=f"is not known; name a function of the file, {module}:FUNCTION$"):
        load_model(module)


def test_the_user_s_module_may_name_its_own_answers(module: str) -> None:
    bound = load_model(f"{module}:named").bind(QUESTION)
    assert bound.labels == ("no", "yes")
    assert bound.log_probs(np.zeros((1, 40, 60, 3), dtype=np.float32)).shape == (1, 2)


BARE = """
    import torch
    from torch import nn

    UNIT = {unit}

    class Reds(nn.Module):
        labels = ("0", "1", "2")

        def forward(self, images):
            red = images[:, 0].mean(dim=(1, 2)) / UNIT
            return -((red[:, None] - torch.arange(3.0)) ** 2){edit}

    def factory(question):
        return Reds()
"""


def test_a_module_without_tensors_is_known_by_its_code_and_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: an edited module without weights kept its fingerprint, and its runs resumed with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def known(unit: str, edit: str) -> tuple[str, tuple[float, ...]]:
        (tmp_path / "bare_model.py").write_text(textwrap.dedent(BARE.format(unit=unit, edit=edit)))
        sys.modules.pop("bare_model", None)
        importlib.invalidate_caches()
        bound = load_model("bare_model:factory").bind(QUESTION)
        return model_fingerprint("m", bound), probe_probabilities_of(bound)

    first, again = known("0.1", ""), known("0.1", "  # a comment")
    assert first == again and len(first[1]) == 2 * 3
    assert known("0.1", " * 2")[0] != first[0]
    other = known("0.2", "")  # what the code reads from elsewhere shows in the answers
    assert other[0] == first[0] and not answers_alike(first[1], other[1])


WIDE = """
    import torch
    from torch import nn

    class Mean(nn.Module):
        labels = ("no", "yes")

        def __init__(self, kind, shift):
            super().__init__()
            self.layer = nn.Linear(3, 2)
            nn.init.constant_(self.layer.weight, 0.5)
            nn.init.constant_(self.layer.bias, shift)
            self.layer.to(kind)

        def forward(self, images):
            return self.layer(images.mean(dim=(2, 3)).to(self.layer.weight.dtype)).float()

        def get_extra_state(self):
            return {"note": "no tensor"}

        def set_extra_state(self, state):
            pass

    class Packed(nn.Module):
        labels = ("no", "yes")

        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, images):
            return self.layer(images.mean(dim=(2, 3)))

        def state_dict(self):  # as a quantized layer's: its tensors in a tuple
            weight = torch.quantize_per_tensor(self.layer.weight.detach(), 0.25, 0, torch.qint8)
            return {"packed": (weight, self.layer.bias.detach()), "dtype": torch.qint8}

    def brain(question):
        return Mean(torch.bfloat16, len(question.text))

    def packed(question):
        return Packed(Mean(torch.float32, len(question.text)).layer)
"""


@pytest.mark.parametrize("factory", ["brain", "packed"])
def test_weights_that_numpy_lacks_are_hashed(
    factory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: `trex check` accepted the model, and `trex find` ended with a TypeError."""
    (tmp_path / "wide_model.py").write_text(textwrap.dedent(WIDE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("wide_model", None)
    texts = ("Is it red?", "Is it red?", "Is there a cube?")
    prints = [
        model_fingerprint("m", load_model(f"wide_model:{factory}").bind(Question(text, ()))) for text in texts
    ]
    assert prints[0] == prints[1] != prints[2]


def test_the_hash_of_ordinary_tensors_stays_what_it_was() -> None:
    """Runs that were made before can be resumed: names, numpy's types and shapes, and the bytes of all values."""
    state = {"b": torch.arange(4.0)[::2], "a": torch.tensor(3), "c": torch.zeros(2, 0, dtype=torch.float16)}
    digest = hashlib.sha256(b"a int64 ()\n" + np.int64(3).tobytes())
    digest.update(b"b float32 (2,)\n" + np.array([0, 2], np.float32).tobytes() + b"c float16 (2, 0)\n")
    assert tensor_hash(state) == digest.hexdigest()[:16]


def test_a_module_or_factory_that_is_not_there_is_named(module: str) -> None:
    with pytest.raises(InputError, match="cannot import module 'no_such_module': ModuleNotFoundError"):
        load_model("no_such_module:factory")
    with pytest.raises(InputError, match=f"it is neither in {re.escape(os.getcwd())} nor installed"):
        load_model("no_such_module:factory")
    with pytest.raises(InputError, match=r"has no function 'missing'; it has .*good"):
        load_model(f"{module}:missing")
    with pytest.raises(InputError, match=f"{module}:number is of type int; name a function"):
        load_model(f"{module}:number")


@pytest.mark.parametrize("spec", ["", "gpt", ":", "package:", ":factory", "relation-network:best"])
def test_an_unknown_spec_says_what_is_allowed(spec: str) -> None:
    with pytest.raises(InputError, match=r"relation-network|cannot import"):
        load_model(spec)


def test_every_released_relation_network_can_be_named() -> None:
    assert {*NAMES} < {*RELATIONS}


def test_a_pickled_checkpoint_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pickled checkpoint"):
        load_model(str(tmp_path / "model.pth"))
    with pytest.raises(InputError, match="is missing"):
        load_model(str(tmp_path / "model.safetensors"))


@pytest.mark.parametrize("spec", ["{}.safetensors", "onnx:{}.onnx", "iep:{}.pt"])
def test_a_file_of_a_model_may_begin_at_home(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: a folder "~" in the current one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/m")):
        load_model(spec.format("~/m"))
