"""Renderer and classifier as scoring uses them: broken contracts are named, and it is a pure function of the latent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulations.toy import Pixel, PixelClassifier, PixelRenderer
from trex.foundation.errors import ModelError, RenderError
from trex.inference.scoring import Scorer, images
from trex.inference.types import Floats, Pixels

Z = np.array([0.3, 0.8])


@dataclass(frozen=True)
class Shaped:
    """Pictures of one shape and type."""

    array: np.ndarray  # type: ignore[type-arg]

    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        return [Pixel(self.array) for _ in zs]


@dataclass(frozen=True)
class Forgetful:
    def render(self, zs: Sequence[Floats]) -> list[Pixel]:
        return PixelRenderer().render(zs)[:-1]


@dataclass(frozen=True)
class Answering:
    """A classifier that gives these rows, whatever it sees."""

    rows: Floats
    labels: tuple[str, ...] = ("a", "b")

    def log_probs(self, images: Pixels) -> Floats:
        return self.rows


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_order_and_values_do_not_depend_on_the_batch(batch: int) -> None:
    zs = [np.array([i / 7, 1 - i / 7]) for i in range(7)]
    scored = Scorer(PixelRenderer(), PixelClassifier(), batch).score(zs)
    singles = [Scorer(PixelRenderer(), PixelClassifier()).score([z])[0] for z in zs]
    assert all(np.array_equal(a.log_probs, b.log_probs) for a, b in zip(scored, singles, strict=True))
    assert Scorer(PixelRenderer(), PixelClassifier(), batch).score([]) == []


@pytest.mark.parametrize(
    ("renderer", "words"),
    [
        (Shaped(np.zeros((2, 2, 3), np.float64)), "uint8"),
        (Shaped(np.zeros((2, 2), np.uint8)), "uint8"),
        (Shaped(np.zeros((2, 2, 4), np.uint8)), "uint8"),
        (Forgetful(), "gave 0 pictures for 1"),
    ],
)
def test_a_broken_renderer_is_named(renderer: object, words: str) -> None:
    with pytest.raises(RenderError, match=words):
        Scorer(renderer, PixelClassifier()).score([Z])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.array([[-1.0, -1.0]]), "sum to"),
        (np.array([[0.5, 0.5]]), "sum to"),
        (np.array([[np.nan, 0.0]]), "sum to"),
        (np.log([[0.2, 0.3, 0.5]]), "shape"),
        (np.log([0.2, 0.8]), "shape"),
    ],
)
def test_a_broken_classifier_is_named(rows: Floats, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Scorer(PixelRenderer(), Answering(rows)).score([Z])


def test_probabilities_of_zero_are_allowed() -> None:
    with np.errstate(divide="ignore"):
        rows = np.log(np.array([[0.0, 1.0]]))
    assert Scorer(PixelRenderer(), Answering(rows)).score([Z])[0].log_probs[0] == -np.inf


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_float_picture_with_a_value_that_is_no_number_is_refused(value: float) -> None:
    """Planted bug: compared the other way round, NaN is neither below 0 nor above 1."""
    pixels = np.full((2, 3, 1), 0.5, np.float32)
    assert images([SimpleNamespace(pixels=pixels)]).shape == (1, 2, 3, 1)
    pixels[1, 2, 0] = value
    with pytest.raises(RenderError, match="must lie in"):
        images([SimpleNamespace(pixels=pixels)])
