"""A module's fault ends in one line wherever it surfaces; a program of torch.export, which has no eval(), is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.references.user_modules import user_folder
from tests.running.command_line import trex

MODELS = """
def exported(question):
    auto = torch.export.Dim.AUTO
    shapes = {"p": {0: auto, 2: auto, 3: auto}}
    module = torch.export.export(Net().eval(), (torch.rand(2, 3, 80, 120),), dynamic_shapes=shapes).module()
    module.labels = Net.labels
    return module

def exported_alone(question):
    module = torch.export.export(Net().eval(), (torch.rand(1, 3, 80, 120),)).module()
    module.labels = Net.labels
    return module

def frozen(question):
    module = torch.jit.freeze(torch.jit.trace(Net().eval(), torch.rand(2, 3, 80, 120)))
    module.labels = Net.labels
    return module

class Flat(Net):
    def forward(self, p):
        return p.mean((2, 3)).to("meta") @ torch.ones(3, 4, device="meta") * self.gain

def on_meta(question):
    return Flat().to("meta")

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

def late(question): return Faulty()
def secret(question): return Secret()
def program(question): return torch.export.export(Net().eval(), (torch.rand(2, 3, 80, 120),))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exported", "exported_alone", "frozen"])
def test_a_program_without_modes_is_asked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS)
    done = trex("check", "q.toml", "--model", f"{module}:{name}")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("on_meta", "fails: its answers are on torch's device 'meta'"),
        ("late", "fails on a picture: RuntimeError: CUDA error: device-side assert triggered"),
        ("secret", "fails for 'How many red things are there?': RuntimeError: no labels yet"),
        (
            "program",
            "gives a ExportedProgram; its factory must return a torch.nn.Module; return its .module()",
        ),
    ],
)
def test_a_fault_is_one_line(name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS)
    done = trex("check", "q.toml", "--model", f"{module}:{name}")
    assert done.exit_code == 2 and done.stderr.startswith(f"error: model '{module}:{name}'"), done.stderr
    assert words in done.stderr and done.stderr.count("\n") == 1
