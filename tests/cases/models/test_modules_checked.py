"""Modules and callables that `trex check` takes or refuses: each fault is one line with what to change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.references.user_modules import user_folder
from tests.running.command_line import trex

CUBES = ["--set", "question=Are there any cubes?", "--set", "answer=yes"]
Check = Callable[..., Result]
MODELS = """
import numpy as np

# Softmaxed twice, the best answer tops out at .475, and a search for confident mistakes finds none.
class Soft(Net):
    def forward(self, p):
        return super().forward(p).softmax(-1)

class Half(Net):
    def forward(self, p):
        return super().forward(p).bfloat16().softmax(-1)

class Percent(Net):
    def forward(self, p):
        return 100 * super().forward(p).softmax(-1)

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
class Single(torch.nn.Module):
    labels = ("yes",)

    def forward(self, p):
        return p.mean((1, 2, 3))[:, None] - 1

class Unnamed(Single):
    labels = ("no", "yes")

class Flat(Unnamed):
    def forward(self, p):
        return super().forward(p)[:, 0]

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

class Meta(Net):
    def forward(self, p):
        return p.mean((2, 3)).to("meta") @ torch.ones(3, 4, device="meta") * self.gain

class Late(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ in ("isfinite", "equal", "all", "double", "cpu"):
            raise RuntimeError("CUDA error: device-side assert triggered\\nreported at some other call")
        return super().__torch_function__(func, types, args, kwargs or {})

class Faulty(Net):
    def forward(self, p):
        return super().forward(p).as_subclass(Late)

class Secret(Net):
    @property
    def labels(self):
        raise RuntimeError("no labels yet")

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

def plain(question): return Net()
def softmaxed(question): return Soft()
def half(question): return Half()
def percent(question): return Percent()
def once(question): return Once()
def negative(question): return Negative()
def single(question): return Single()
def unnamed(question): return Unnamed()
def flat(question): return Flat()
def pair(question): return Pair()
def meta(question): return Meta().to("meta")
def late(question): return Faulty()
def secret(question): return Secret()
def wide(question): return Wide()
def mute(question): return Mute()
def in_place(question): return InPlace()
def program(question): return torch.export.export(Net().eval(), (torch.rand(2, 3, 80, 120),))
"""
SOFTMAX = ("looks like probabilities, not logits", "leave the softmax out of the module")
TWO = (
    "two columns for no and yes",
    "torch.cat([0 * z, z], dim=1)",
    "np.stack([1 - p, p], axis=1)",
)


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """`trex check` with a model of MODELS, whose module is M in its spec."""
    module = user_folder(tmp_path, monkeypatch, MODELS)
    return lambda spec, *words: trex("check", "q.toml", "--model", spec.replace("M", module), *words)


@pytest.mark.parametrize(
    ("spec", "question", "words"),
    [
        *[(f"M:{name}", [], SOFTMAX) for name in ("softmaxed", "half", "percent")],
        *[(spec, CUBES, TWO) for spec in ("M:single", "M:unnamed", "M:flat", "ask:M:sure", "ask:M:share")],
        ("M:meta", [], ("fails: its answers are on torch's device 'meta'",)),
        ("M:late", [], ("fails on a picture: RuntimeError: CUDA error: device-side assert triggered",)),
        ("M:secret", [], ("fails for 'How many red things are there?': RuntimeError: no labels yet",)),
        (
            "M:program",
            [],
            ("gives a ExportedProgram; its factory must return a torch.nn.Module; return its .module()",),
        ),
        ("M:wide", [], ("got multiple values for keyword argument 'p'; it must take",)),
        ("M:mute", [], ("AssertionError: in m_", ": assert p.dim() == 3; it must take")),
    ],
)
def test_a_fault_is_one_line_with_what_to_change(
    spec: str, question: list[str], words: tuple[str, ...], check: Check
) -> None:
    done = check(spec, *question)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("error: model ") and len(done.stderr) < 900
    for part in words:
        assert part in done.stderr


@pytest.mark.parametrize(
    ("spec", "question"),
    [
        ("M:plain", []),
        ("M:once", CUBES),  # one row looks like probabilities
        ("M:negative", CUBES),
        ("M:pair", CUBES),  # as the error of one output says
        ("ask:M:shares", CUBES),
        ("M:in_place", []),  # deterministic: each call gets a picture of its own
    ],
)
def test_what_has_no_fault_is_accepted(spec: str, question: list[str], check: Check) -> None:
    done = check(spec, *question)
    assert done.exit_code == 0, done.stderr


def test_a_module_whose_name_python_has_is_told_to_be_renamed(check: Check) -> None:
    """Python's documentation, "the module search path": a module that was imported before is not read again."""
    Path("queue.py").write_text("def factory(question): ...\n")
    done = check("queue.py:factory")
    assert done.exit_code == 2 and "was imported under that name before: rename queue.py" in done.stderr
