"""A module that normalizes its input in place is deterministic: each call gets a picture of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.references.user_modules import user_folder
from tests.running.command_line import trex
from trex.clevr_models.adapters.torch_module import UserModel
from trex.clevr_models.interface.question import Question
from trex.clevr_models.saliency import PathIntegral, integrated_gradients
from trex.mnist_models.models import DigitClassifier

MODELS = """
class InPlace(Net):
    def forward(self, p):
        p.mul_(2).sub_(1)
        return p.mean((1, 2, 3))[:, None] * torch.arange(4.0)

def factory(question): return InPlace()
"""


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


def test_it_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = user_folder(tmp_path, monkeypatch, MODELS)
    done = trex("check", "q.toml", "--model", f"{module}:factory")
    assert done.exit_code == 0, done.stderr


def test_it_answers_as_one_that_leaves_the_picture_alone() -> None:
    channels_first = np.random.default_rng(1).random((1, 3, 20, 30), np.float32)
    given = channels_first.transpose(0, 2, 3, 1)  # as decoders give them: a view that needs no copy
    kept, question = given.copy(), Question("Is it?", ())
    rows = [
        UserModel("m", lambda _, one=one: one()).bind(question).log_probs(given) for one in (Apart, InPlace)
    ]
    np.testing.assert_array_equal(*rows)
    np.testing.assert_array_equal(given, kept)


def test_a_digit_classifier_leaves_the_picture_alone() -> None:
    given = np.random.default_rng(1).random((2, 28, 28, 1), np.float32)
    kept = given.copy()
    rows = [
        DigitClassifier("m", one(), ("no", "yes"), "mnist", "0").log_probs(given) for one in (Apart, InPlace)
    ]
    np.testing.assert_array_equal(*rows)
    np.testing.assert_array_equal(given, kept)


def test_its_saliency_is_that_of_one_that_leaves_the_picture_alone() -> None:
    image = np.random.default_rng(1).random((20, 30, 3), np.float32)
    how = PathIntegral(steps=4, batch=2)
    maps = [integrated_gradients(one(), image, 0 * image, (1,), how).map for one in (Apart, InPlace)]
    np.testing.assert_array_equal(*maps)
    assert maps[0].max() > 0
