"""Further situations of models, of the kinds of cases 01 to 08 and 26; each says where it is known from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import trex
from tests.references.onnx_files import (
    external,
    integer,
    mean_colors,
    model,
    node,
    one_inside,
    tensor,
    value,
    with_label,
)
from tests.references.user_modules import user_folder
from tests.running.command_line import trex as command
from trex.clevr_models.adapters.callable_model import checked
from trex.clevr_models.adapters.live import as_session_model, session_model_available
from trex.clevr_models.adapters.torch_module import UserModel
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.bound import BoundModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
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
        input_size: tuple[int, int] | None = None

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


def onnx_model(folder: Path, data: bytes, **card: object) -> BoundModel:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (extra `onnx`)")
    (folder / "m.onnx").write_bytes(data)
    (folder / "m.json").write_text(json.dumps({"labels": ["no", "yes"], **card}))
    return load_model(f"onnx:{folder / 'm.onnx'}").bind(ASKED)


def shares(given: NDArray[np.float32]) -> NDArray[np.float64]:
    scores = np.exp(4 * given.astype(np.float64).mean(axis=(1, 2))[:, :2])
    found: NDArray[np.float64] = scores / scores.sum(axis=1, keepdims=True)
    return found


def test_a_batch_axis_that_is_free_by_name_alone_is_asked_one_by_one(tmp_path: Path) -> None:
    """MTG/essentia#1507, and every trace with one picture whose axes were named afterwards."""
    found = np.exp(onnx_model(tmp_path, one_inside()).log_probs(pictures(5)))
    np.testing.assert_allclose(found, shares(pictures(5)), atol=1e-4)


def test_a_label_before_the_scores_is_left_out(tmp_path: Path) -> None:
    """onnx/sklearn-onnx#754: converted classifiers return the label first."""
    found = np.exp(onnx_model(tmp_path, with_label()).log_probs(pictures(5)))
    np.testing.assert_allclose(found, shares(pictures(5)), atol=1e-4)
    with pytest.raises(InputError, match=r"returns tensor\(int64\); it must return logits or probabilities"):
        onnx_model(tmp_path, with_label(alone=True))


def test_features_before_the_logits_are_left_out(tmp_path: Path) -> None:
    """Networks that return what they extracted, too: the output for the card's answers is read."""
    features = value("flat", 1, ["B", 3])
    logits = value("logits", 1, ["B", 2])
    nodes = [
        node("GlobalAveragePool", ["pictures"], "mean"),
        node("Flatten", ["mean"], "flat", integer("axis", 1)),
        node("MatMul", ["flat", "weights"], "logits"),
    ]
    file = model(
        nodes,
        [value("pictures", 1, ["B", 3, "H", "W"])],
        [features, logits],
        [tensor("weights", (3, 2), (4, 0, 0, 4, 0, 0))],
    )
    np.testing.assert_allclose(
        np.exp(onnx_model(tmp_path, file).log_probs(pictures(5))), shares(pictures(5)), atol=1e-4
    )


@pytest.mark.parametrize("spec", ["onnx:", "onnx:.", "onnx:/"])
def test_an_onnx_model_without_a_file_is_one_line(spec: str) -> None:
    with pytest.raises(InputError, match=r"names no file; write onnx:FILE\.onnx"):
        load_model(spec)


def test_weights_in_the_memory_of_a_process_are_elsewhere_too(tmp_path: Path) -> None:
    """microsoft/onnxruntime#23557: a mark in place of a file's name stands for an address."""
    kept = external("w", (3, 2), "*/_ORT_MEM_ADDR_/*")
    inputs, output = [value("pictures", 1, ["B", 3, "H", "W"])], value("logits", 1, ["B", 2])
    with pytest.raises(InputError, match="keeps weights in another file"):
        onnx_model(tmp_path, model([], inputs, output, [kept]))


def test_logits_called_probabilities_are_refused(tmp_path: Path) -> None:
    """ultralytics/ultralytics#18085: an export that lost its softmax."""
    with pytest.raises(InputError, match="not probabilities"):
        onnx_model(tmp_path, mean_colors(weights=(4, 0, 0, -4, 0, 0)), gives="probabilities")


def test_a_service_with_16_bits_or_two_decimals_is_accepted() -> None:
    """InternLM/lmdeploy#1239: a bfloat16 softmax does not add up to 1."""
    for row in ([0.33, 0.33, 0.33], [0.50390625, 0.25, 0.25]):
        found = checked("http://host/vqa", np.array([row]), 1, ["0", "1", "2"])
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_module_whose_name_python_has_is_told_to_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's documentation, "the module search path": a module that was imported before is not read again."""
    user_folder(tmp_path, monkeypatch, "")
    (tmp_path / "queue.py").write_text("def factory(question): ...\n")
    done = command("check", "q.toml", "--model", "queue.py:factory")
    assert done.exit_code == 2 and "was imported under that name before: rename queue.py" in done.stderr


def test_an_error_without_a_message_and_a_very_long_one_keep_their_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch.nn.Module's __repr__ in the text of a TypeError: the point comes after pages of layers."""
    code = """
    class Wide(Net):
        def forward(self, p):
            raise TypeError(f"{'(layer): Linear()' * 500} got multiple values for keyword argument 'p'")

    class Mute(Net):
        def forward(self, p):
            assert p.dim() == 3

    def wide(question): return Wide()
    def mute(question): return Mute()
    """
    module = user_folder(tmp_path, monkeypatch, code)
    wide, mute = (
        command("check", "q.toml", "--model", f"{module}:{name}").stderr for name in ("wide", "mute")
    )
    assert "got multiple values for keyword argument 'p'; it must take" in wide and len(wide) < 600
    assert f"AssertionError: in {module}.py, line " in mute and ": assert p.dim() == 3; it must take" in mute


def test_one_label_of_a_model_of_transformers_is_refused(tmp_path: Path) -> None:
    """transformers' id2label: two labels that are the same answer leave nothing else to say."""
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    from tests.references import tiny_transformers as tiny

    folder = tiny.save(tmp_path / "vilt", *tiny.vilt(("yes", "Yes.")))
    with pytest.raises(InputError, match="has one answer, 'yes'"):
        load_model(f"hf:{folder}").bind(ASKED)


@pytest.mark.parametrize(
    ("is_vqa", "message"),
    [(False, "a question would begin its reply"), (True, r"run hf download (ybelkada/fonts Arial\.TTF)")],
)
def test_pix2struct_says_what_it_lacks_before_its_first_picture(
    is_vqa: bool, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/transformers: Pix2Struct draws the question with a font that it downloads."""
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    import huggingface_hub

    from tests.references import tiny_transformers as tiny

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tiny.save(tmp_path / "m", *tiny.pix2struct(is_vqa=is_vqa))
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{folder}")


def test_florence_gets_one_mark_for_its_picture(tmp_path: Path) -> None:
    """Its processor writes the mark; another one is a second picture, which the model has no features for."""
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    from tests.references import tiny_transformers as tiny

    found: Any = load_model(f"hf:{tiny.save(tmp_path / 'm', *tiny.florence2())}").bind(ASKED)
    inputs = found.answerer.inputs(pictures(1)[0], ASKED)
    marks = int((inputs["input_ids"] == found.answerer.replies.model.config.image_token_id).sum())
    assert marks == found.answerer.processor.num_image_tokens == 17
    assert found.log_probs(pictures()).shape == (3, 29)


def test_replies_with_16_bits_may_add_up_to_a_little_more_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token's probability differs a little from row to row there; that is no fault of the logits."""
    pytest.importorskip("transformers", reason="transformers is not installed (extra `hf`)")
    from tests.references import tiny_transformers as tiny
    from trex.clevr_models.huggingface import candidates as answer_masses
    from trex.clevr_models.huggingface.candidates import make_candidates
    from trex.foundation.errors import ModelError

    tokenizer = tiny.byte_tokenizer()
    candidates = make_candidates(tokenizer, frozenset([tokenizer.eos_token_id]))
    n = len(candidates.every)
    likelihoods = torch.full((n,), 1.01 / n, dtype=torch.float64).log()
    monkeypatch.setattr(answer_masses, "candidate_log_likelihoods", lambda *_: likelihoods)
    assert answer_masses.answer_row(candidates, [], 0.03).sum() == pytest.approx(1.0)
    with pytest.raises(ModelError, match=r"add up to 1\.01; that is more than rounding"):
        answer_masses.answer_row(candidates, [])
    likelihoods[0] = torch.nan
    with pytest.raises(ModelError, match="are not finite"):
        answer_masses.answer_row(candidates, [], 0.03)
