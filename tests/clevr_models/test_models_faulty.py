"""Faults inside a model that somebody else wrote: each ends in one line that names the model and what to change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.references.onnx_files import mean_colors
from tests.references.user_modules import user_folder
from tests.running.command_line import trex
from trex.clevr_models.adapters.callable_model import AdaptedModel
from trex.clevr_models.catalog import load_model
from trex.clevr_models.interface.bound import BoundModel
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, TrexError
from trex.foundation.own_code import error_text

QUESTION = Question("How many cubes are there?", ())
MODELS = """
import sys
import numpy as np
from torch import nn

class Squeezes(Net):
    def forward(self, p): return super().forward(p).squeeze()

class Small(Net):
    def forward(self, p):
        assert p.shape[2] <= 80, "Missing key(s):\\n\\t" + "x" * 5000
        return super().forward(p)

class Exits(Net):
    def forward(self, p): sys.exit("usage: mymodel")

class Endless(Net):
    def forward(self, p): return super().forward(p) * float("nan")

class Late_nan(Net):
    def forward(self, p):
        is_bright = p.min() == 1  # neither probe picture is
        return super().forward(p) / (~is_bright) * (0 if is_bright else 1)

class Drops(Net):
    def forward(self, p): return nn.functional.dropout(super().forward(p) + torch.rand(4), training=True)

class Fails(Net):
    def forward(self, p): raise RuntimeError("size mismatch")

class Narrow(nn.Module):
    def forward(self, p): return p.mean((2, 3))

class Twice(Net):
    labels = ("0", "1", "2", "2")

class Control(Net):
    labels = ("0", "1", "2", "\\x1b[2J")

# Softmaxed twice, the best answer tops out at .475, and a search for confident mistakes finds none.
class Soft(Net):
    def forward(self, p): return super().forward(p).softmax(-1)

class Half(Net):
    def forward(self, p): return super().forward(p).bfloat16().softmax(-1)

class Percent(Net):
    def forward(self, p): return 100 * super().forward(p).softmax(-1)

class Once(Net):
    labels = ("no", "yes")

    def forward(self, p):  # of a blank picture 0 and 1, as probabilities are
        amount = p.mean((1, 2, 3)) * 9
        return torch.stack([amount, 1 + amount], dim=1)

class Negative(Once):
    def forward(self, p):  # of every picture with the sum 1, and not at least 0
        amount = p.mean((1, 2, 3)) * 9
        return torch.stack([1 + amount, -amount], dim=1)

# A softmax of one number is 1, so every picture would be a hit.
class Single(nn.Module):
    labels = ("yes",)

    def forward(self, p): return p.mean((1, 2, 3))[:, None] - 1

class Unnamed(Single):
    labels = ("no", "yes")

class Flat(Unnamed):
    def forward(self, p): return super().forward(p)[:, 0]

class Pair(Unnamed):
    def forward(self, p):
        z = super().forward(p)
        return torch.cat([0 * z, z], dim=1)

def sure(pictures, question): return np.ones((len(pictures), 1))
sure.labels = ("yes",)
def share(pictures, question): return pictures.mean((1, 2, 3))
def shares(pictures, question):
    p = share(pictures, question)
    return np.stack([1 - p, p], axis=1)
share.labels = shares.labels = ["no", "yes"]

class Chosen(Net):
    def forward(self, p): return super().forward(p).argmax(1)

class Regressed(Net):
    def forward(self, p): return super().forward(p)[:, 0]

def word(pictures, question): return np.array(["2"] * len(pictures))
def mean(pictures, question): return pictures.mean((1, 2, 3))
word.labels = mean.labels = Net.labels

class Meta(Net):
    def __init__(self):
        super().__init__()
        self.to("meta")

    def forward(self, p): return p.mean((2, 3)).to("meta") @ torch.ones(3, 4, device="meta") * self.gain

class Late(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ in ("isfinite", "equal", "all", "double", "cpu"):
            raise RuntimeError("CUDA error: device-side assert triggered\\nreported at some other call")
        return super().__torch_function__(func, types, args, kwargs or {})

class Faulty(Net):
    def forward(self, p): return super().forward(p).as_subclass(Late)

class Secret(Net):
    @property
    def labels(self): raise RuntimeError("no labels yet")

class Wide(Net):
    def forward(self, p):  # as torch.nn.Module's __repr__ in the text of a TypeError: pages of layers before the point
        raise TypeError(f"{'(layer): Linear()' * 500} got multiple values for keyword argument 'p'")

class Mute(Net):
    def forward(self, p):
        assert p.dim() == 3

class InPlace(Net):
    def forward(self, p):
        p.mul_(2).sub_(1)
        return p.mean((1, 2, 3))[:, None] * torch.arange(4.0)

for kind in [thing for thing in list(globals().values()) if isinstance(thing, type) and issubclass(thing, nn.Module)]:
    globals()[kind.__name__.lower()] = lambda question, kind=kind: kind()
instance = Net()

def unbatched(question): return nn.Flatten(0)
def no_module(question): return lambda images: images
def quits(question): sys.exit(3)
def program(question): return torch.export.export(Net().eval(), (torch.rand(2, 3, 80, 120),))
def raises(question): raise KeyError("weights")

class Answers:
    def __call__(self, pictures, question):
        raise ValueError("two\\nlines \\x1b[2J")
answers = Answers()
"""
Bind = Callable[[str], BoundModel]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = user_folder(tmp_path, monkeypatch, MODELS)
    (tmp_path / f"{name}_script.py").write_text("raise SystemExit('usage: script')\n", encoding="utf-8")
    return name


@pytest.fixture
def bind(module: str) -> Bind:
    """Binds a model of MODELS to a question; M stands for their module."""
    return lambda spec: load_model(spec.replace("M:", f"{module}:")).bind(QUESTION)


def bright(height: int = 80) -> np.typing.NDArray[np.float32]:
    return np.ones((1, height, height * 3 // 2, 3), np.float32)


SOFTMAX = r"looks like probabilities, not logits.*leave the softmax out of the module"
TWO = r"two columns for no and yes|two columns for 'no' and 'yes'"
FAULTS = {
    "M:narrow": r"returns torch.float32 \(2, 3\); it must return float logits \(2, 28\)",
    "M:unbatched": "must return float logits",
    "M:squeezes": r"another shape for one picture than for two: it must return logits \(1, 4\)",
    "M:endless": "not finite",
    "M:drops": "gives two different answers to the same picture",
    "M:twice": "its labels name the answer '2' twice$",
    "M:control": r"names the answer .*\\x1b.*printable",
    "M:Net": "but 2 were given; it must be a function of the question$",
    "M:instance": "is a torch.nn.Module; name a function",
    "M:no_module": r"gives a function; its factory must return a torch\.nn\.Module",
    "M:program": r"gives a ExportedProgram; its factory must return a torch.nn.Module; return its \.module\(\)",
    "M:raises": "KeyError: 'weights'",
    "M:quits": r"fails for 'How many cubes are there\?': SystemExit: 3",
    "M:exits": "fails on a picture: SystemExit: usage: mymodel",
    "M:fails": r"RuntimeError: size mismatch; it must take float32 \(2, 3, 80, 120\)",
    "M:meta": "fails: its answers are on torch's device 'meta'",
    "M:faulty": "fails on a picture: RuntimeError: CUDA error: device-side assert triggered",
    "M:secret": r"fails for 'How many cubes are there\?': RuntimeError: no labels yet",
    "M:wide": "got multiple values for keyword argument 'p'; it must take",
    "M:mute": r"AssertionError: in m_\w+\.py, line \d+: assert p\.dim\(\) == 3; it must take",
    **dict.fromkeys(("M:soft", "M:half", "M:percent"), SOFTMAX),
    **dict.fromkeys(("M:single", "M:unnamed", "M:flat", "ask:M:sure", "ask:M:share"), TWO),
    **dict.fromkeys(("M:chosen", "ask:M:word"), r"return what the model gives every answer.*\(no argmax\)$"),
    **dict.fromkeys(("M:regressed", "ask:M:mean"), r"a column for each of its answers \(0, 1, 2, 3\)$"),
}


@pytest.mark.parametrize("spec", FAULTS)
def test_a_faulty_model_is_refused_before_any_picture(spec: str, module: str, bind: Bind) -> None:
    with pytest.raises(InputError, match=FAULTS[spec]) as caught:
        bind(spec)
    text = str(caught.value)
    assert module in text and text.isprintable() and len(text) < 900
    if FAULTS[spec] == TWO:
        assert "torch.cat([0 * z, z], dim=1)" in text and "np.stack([1 - p, p], axis=1)" in text


@pytest.mark.parametrize(
    "spec",
    [
        "M:once",  # one row looks like probabilities
        "M:negative",
        "M:pair",  # as the error of one output says
        "ask:M:shares",
        "M:inplace",  # deterministic: each call gets a picture of its own
    ],
)
def test_what_has_no_fault_is_accepted(spec: str, bind: Bind) -> None:
    assert bind(spec).labels


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("M:small", r"fails on a picture of 240x160: AssertionError: Missing key\(s\): x+ \.\.\. x+$"),
        ("M:late_nan", "returns values that are not finite on a picture of 240x160"),
    ],
)
def test_a_module_that_fails_on_a_later_picture_is_named_in_one_line(
    module: str, spec: str, message: str, bind: Bind
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        bind(spec).log_probs(bright(160))
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


def test_a_module_whose_name_python_has_is_told_to_be_renamed(module: str) -> None:
    """Python's documentation, "the module search path": a module that was imported before is not read again."""
    Path("queue.py").write_text("def factory(question): ...\n")
    done = trex("check", "q.toml", "--model", "queue.py:factory")
    assert done.exit_code == 2 and "was imported under that name before: rename queue.py" in done.stderr
