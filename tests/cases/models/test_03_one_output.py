"""A model of one answer is refused: a softmax of one number is 1, so every picture would be a hit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.references.user_modules import user_folder
from tests.running.command_line import trex

QUERY = """
question = "Are there any cubes?"
answer = "yes"
[render]
preset = "fake"
"""
MODELS = """
import numpy as np

class HasCube(torch.nn.Module):
    labels = ("yes",)

    def forward(self, p):
        return p.mean((1, 2, 3))[:, None] - 1

class Unnamed(HasCube):
    labels = ("no", "yes")

class Flat(Unnamed):
    def forward(self, p):
        return super().forward(p)[:, 0]

class Pair(HasCube):
    labels = ["no", "yes"]

    def forward(self, p):
        z = super().forward(p)
        return torch.cat([0 * z, z], dim=1)

def one(question): return HasCube()
def unnamed(question): return Unnamed()
def flat(question): return Flat()
def pair(question): return Pair()

def sure(pictures, question): return np.ones((len(pictures), 1))
sure.labels = ("yes",)
def share(pictures, question): return pictures.mean((1, 2, 3))
share.labels = ("no", "yes")
def shares(pictures, question):
    p = share(pictures, question)
    return np.stack([1 - p, p], axis=1)
shares.labels = ["no", "yes"]
"""


@pytest.mark.parametrize("spec", ["{}:one", "{}:unnamed", "{}:flat", "ask:{}:sure", "ask:{}:share"])
def test_one_output_is_refused_with_what_to_return(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS, QUERY)
    done = trex("check", "q.toml", "--model", spec.format(module))
    assert done.exit_code == 2 and done.stderr.count("\n") == 1
    for advice in (
        "two columns for no and yes",
        "torch.cat([0 * z, z], dim=1)",
        "np.stack([1 - p, p], axis=1)",
    ):
        assert advice in done.stderr, done.stderr


@pytest.mark.parametrize("spec", ["{}:pair", "ask:{}:shares"])
def test_what_the_error_says_to_return_is_accepted(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS, QUERY)
    assert trex("check", "q.toml", "--model", spec.format(module)).exit_code == 0
