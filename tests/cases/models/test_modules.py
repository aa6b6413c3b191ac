"""Modules as programs make and change them, and the forms of their labels; each says where it is known from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import trex
from trex.clevr_models.adapters.live import as_session_model, session_model_available
from trex.clevr_models.adapters.torch_module import UserModel
from trex.clevr_models.interface.bound import BoundModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.clevr_models.saliency import PathIntegral, integrated_gradients
from trex.foundation.errors import InputError
from trex.mnist_models.models import DigitClassifier
from trex.worlds.fingerprint import is_known_by_weights, model_fingerprint, tensor_hash
from trex.worlds.world import open_model

ASKED = Question("Are there any cubes?", ())
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Net(nn.Module):
    """A small network with dropout and batch normalization."""

    labels: Any = ("no", "yes")

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.drop, self.last = nn.Dropout(0.5), nn.Linear(4, 2)

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 2)."""
        return self.last(self.drop(self.norm(self.conv(pictures)).mean((2, 3))))


class WithoutDropout(Net):
    """Its answers are the same twice, in training too."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Identity()  # type: ignore[assignment]


def named(module: Any) -> nn.Module:
    module.labels = ("no", "yes")
    found: nn.Module = module
    return found


def bound(thing: object) -> BoundModel:
    """A module or a callable, with the question; tried as an object of the session, too."""
    session = as_session_model(thing)
    with session_model_available(session):
        found = open_model(session.name).bind(ASKED)
    return UserModel("m", lambda _: thing).bind(ASKED) if isinstance(thing, nn.Module) else found


def pictures(n: int = 3) -> NDArray[np.float32]:
    return np.random.default_rng(2).random((n, 80, 120, 3), np.float32)


def exported(module: nn.Module) -> nn.Module:
    auto = torch.export.Dim.AUTO
    shapes = {"pictures": {0: auto, 2: auto, 3: auto}}
    return named(torch.export.export(module, (torch.rand(2, 3, 80, 120),), dynamic_shapes=shapes).module())


def loaded(module: nn.Module, folder: Path) -> nn.Module:
    torch.jit.script(module.train()).save(folder / "m.pt")  # type: ignore[no-untyped-call]
    return named(torch.jit.load(folder / "m.pt"))  # type: ignore[no-untyped-call]


MAKERS: dict[str, Callable[[Path], nn.Module]] = {
    # pytorch/pytorch#150089: no attribute `training`
    "frozen": lambda _: named(torch.jit.freeze(torch.jit.script(Net().eval()))),  # type: ignore[no-untyped-call]
    # pytorch/pytorch#16742: a loaded script is in training mode
    "loaded script": lambda folder: loaded(Net(), folder),
    # pytorch/pytorch#151726: train() and eval() raise
    "exported": lambda _: exported(Net().eval()),
    "exported for one picture": lambda _: named(
        torch.export.export(Net().eval(), (torch.rand(1, 3, 80, 120),)).module()
    ),
    # pytorch's documentation of torch.compile: a wrapper that passes attributes on
    "compiled": lambda _: torch.compile(Net(), backend="eager"),  # type: ignore[list-item]
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_programs_made_of_a_module_answer_as_it_does(name: str, tmp_path: Path) -> None:
    plain = bound(Net()).log_probs(pictures())
    np.testing.assert_allclose(bound(MAKERS[name](tmp_path)).log_probs(pictures()), plain, atol=1e-5)


@pytest.mark.parametrize(
    ("module", "message"),
    [(Net(), "gives two different answers"), (WithoutDropout(), "changes its own buffers .* after eval")],
)
def test_a_program_exported_in_training_mode_is_refused(module: nn.Module, message: str) -> None:
    """pytorch/pytorch#151726: its mode is part of it, and batch normalization goes on learning."""
    with pytest.raises(InputError, match=message):
        bound(exported(module.train()))


def test_a_program_of_torch_export_names_its_module() -> None:
    """pytorch/pytorch#119466: it is callable and no module."""
    with pytest.raises(InputError, match=r"use `exported_program\.module\(\)`"):
        bound(torch.export.export(Net().eval(), (torch.rand(2, 3, 80, 120),)))


class Sparse(Net):
    """A graph's neighbors as a sparse buffer."""

    def __init__(self, layout: torch.layout) -> None:
        super().__init__()
        self.register_buffer("neighbors", torch.eye(4).to_sparse(layout=layout))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_a_module_with_a_sparse_buffer_is_taken(layout: torch.layout) -> None:
    """pytorch/pytorch: torch.equal has no sparse form; the comparison of buffers failed on it."""
    found = bound(Sparse(layout))
    np.testing.assert_array_equal(found.log_probs(pictures()), bound(Net()).log_probs(pictures()))


class Offloaded(Net):
    """Weights that come to the device when they are needed, as big models keep them."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = {name: tensor.clone() for name, tensor in self.state_dict().items()}
        self.plain = Net()
        self.to("meta")

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 2)."""
        return torch.func.functional_call(Net().eval(), self.kept, (pictures,))


def test_a_module_whose_weights_are_elsewhere_is_known_by_its_answers() -> None:
    """huggingface/accelerate's offloading: parameters are on "meta" between calls."""
    found = bound(Offloaded())
    assert len(found.probe_probabilities) == 4  # type: ignore[attr-defined]
    assert model_fingerprint("m", found) and not is_known_by_weights(found)
    assert is_known_by_weights(bound(Net()))
    assert tensor_hash({"a": torch.ones(2, device="meta")}) != tensor_hash(
        {"a": torch.ones(3, device="meta")}
    )


class Twice(str):
    """A text of another class."""


LABELS: dict[str, object] = {
    "set": {"yes", "no"},
    "frozenset": frozenset(("yes", "no")),
    "dict of numbers": {0: "no", 1: "yes"},  # transformers' id2label
    "dict of names": {
        "yes": 1,
        "no": 0,
    },  # torchvision's class_to_idx, whose order is not that of the numbers
    "keys": {"no": 0, "yes": 1}.keys(),
    "text": "ny",
    "bytes": b"ny",
    "generator": (name for name in ("no", "yes")),
    "map": map(str, (0, 1)),
    "array": np.array(["no", "yes"]),  # scikit-learn's classes_
    "numbers": (0, 1),
    "truths": (False, True),
    "array of numbers": np.arange(2),
    "tensor": torch.arange(2),
    "bytes in a list": [b"no", b"yes"],
    "None": None,
    "a number": 3,
    "a name and a number": ["no", 1],
    "one name": ["yes"],
    "no name": [],
}


@pytest.mark.parametrize("form", LABELS)
@pytest.mark.parametrize("kind", ["module", "callable"])
def test_labels_in_any_form_but_a_list_of_names_are_refused(form: str, kind: str) -> None:
    def answerer(pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        return np.full((len(pictures), 2), 0.5)

    net = Net()
    net.labels = answerer.labels = LABELS[form]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"labels (are|hold)|has one answer"):
        bound(net if kind == "module" else answerer)


@pytest.mark.parametrize("labels", [["no", "yes"], ("no", "yes"), [np.str_("no"), Twice("yes")]])
def test_a_list_or_tuple_of_names_is_taken_in_its_order(labels: object) -> None:
    net = Net()
    net.labels = labels
    found = bound(net).labels
    assert found == ("no", "yes") and {type(name) for name in found} == {str}


class Foreign(NamedTuple):
    """A bound model of an installed adapter, which nothing else has checked."""

    labels: Any

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """(B, H, W, 3) -> (B, 2)."""
        return np.full((len(images), 2), np.log(0.5))


@pytest.mark.parametrize("labels", [{"no", "yes"}, ("yes",), {0: "no", 1: "yes"}])
def test_the_labels_of_an_installed_adapter_are_checked(labels: Any) -> None:
    class Model(NamedTuple):
        name: str = "foreign"

        def bind(self, question: Question) -> Foreign:
            return Foreign(labels)

    with pytest.raises(InputError, match="model 'foreign'"):
        bound_to(Model(), ASKED)


@pytest.mark.parametrize("labels", [{"near", "far"}, ("far",), "nf"])
def test_the_labels_of_a_worlds_own_classifier_are_checked(
    labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.worlds import toy_disk

    monkeypatch.setattr(
        toy_disk.DiskClassifier, "__init__", lambda self: object.__setattr__(self, "labels", labels)
    )
    with pytest.raises(InputError, match="model 'disk'"):
        trex.check(generator="tests.worlds.toy_disk:disk", answer="far", target="threshold")


class Apart(nn.Module):
    """Normalizes a picture of its own."""

    labels = ("no", "yes")

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Conv2d(3, 2, 3)

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 2)."""
        return self.answers(pictures * 2 - 1)

    def answers(self, pictures: Tensor) -> Tensor:
        """The convolution's mean."""
        return self.layer(pictures.expand(-1, 3, -1, -1)).mean((2, 3))


class InPlace(Apart):
    """The same, as torchvision's Normalize(inplace=True) does it."""

    def forward(self, pictures: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 2)."""
        return self.answers(pictures.mul_(2).sub_(1))


def test_a_module_that_changes_its_input_answers_as_one_that_leaves_the_picture_alone() -> None:
    channels_first = np.random.default_rng(1).random((1, 3, 20, 30), np.float32)
    given = channels_first.transpose(0, 2, 3, 1)  # as decoders give them: a view that needs no copy
    digits = np.random.default_rng(1).random((2, 28, 28, 1), np.float32)
    for pictures, request in (
        (given, lambda module: UserModel("m", lambda _: module).bind(ASKED)),
        (digits, lambda module: DigitClassifier("m", module, ("no", "yes"), "mnist", "0")),
    ):
        kept = pictures.copy()
        np.testing.assert_array_equal(*(request(kind()).log_probs(pictures) for kind in (Apart, InPlace)))
        np.testing.assert_array_equal(pictures, kept)


def test_its_saliency_is_that_of_such_a_module() -> None:
    image = np.random.default_rng(1).random((20, 30, 3), np.float32)
    how = PathIntegral(steps=4, batch=2)
    maps = [integrated_gradients(item(), image, 0 * image, (1,), how).map for item in (Apart, InPlace)]
    np.testing.assert_array_equal(*maps)
    assert maps[0].max() > 0
