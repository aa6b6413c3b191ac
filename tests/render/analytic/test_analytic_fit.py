"""The fit finds weights again that pictures were made with; the shipped ones are whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.render.analytic.scenes import HEIGHT, WIDTH, pixels_of
from tests.worlds.render_worlds import prior_scenes
from trex.inference.types import Floats
from trex.render.analytic import look
from trex.render.analytic.kernel import TERMS, finish, shade
from trex.render.analytic.look import AnalyticRenderer, fit, linear, shipped_weights
from trex.render.analytic.stage import stage_of
from trex.render.picture import Bytes
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

Examples = list[tuple[Scene, Bytes]]
# Rounding to bytes has a standard deviation of 0.29. It is spread over thousands of pixels of each kind for at most 22
# weights, so pictures by weights that were found again differ in a byte here and there (0.003 on average).
ROUNDING = 0.02


@pytest.fixture(scope="module")
def planted() -> Floats:
    """Weights far from the shipped ones, dark enough that no pixel is white."""
    weights: Floats = 0.7 * shipped_weights() * (1.0 + 0.2 * np.cos(np.arange(66).reshape(3, 22)))
    return weights


@pytest.fixture(scope="module")
def examples(planted: Floats) -> Examples:
    """Scenes drawn by the planted weights, without the pixel filter and the interpolation of bare ground."""
    drawn = []
    for scene in prior_scenes(8):
        light, pixels = np.empty((HEIGHT, WIDTH, 3)), np.empty((HEIGHT, WIDTH, 3), np.uint8)
        shade(*stage_of(scene, CLEVR, WIDTH, HEIGHT), planted, 1, light)
        assert np.mean((light <= 0.0) | (light > 0.95)) < 1e-3
        finish(light, 0.0, look._curve(), pixels)
        drawn.append((scene, pixels))
    return drawn


def apart(first: Floats, second: Floats) -> Floats:
    """How far the bytes of pictures by two sets of weights are apart, on scenes that were not fitted."""
    scenes = prior_scenes(12)[8:]
    one, other = (
        pixels_of(AnalyticRenderer(WIDTH, HEIGHT, weights=each), *scenes) for each in (first, second)
    )
    difference: Floats = np.abs(np.array(one) - np.array(other))
    return difference


def test_planted_weights_are_found_again(planted: Floats, examples: Examples) -> None:
    found = fit(examples, CLEVR)
    assert np.abs(found - planted).max() < 0.02  # the largest is 0.7
    difference = apart(found, planted)
    assert difference.mean() < ROUNDING and difference.max() <= 2
    assert apart(shipped_weights(), planted).mean() > 10.0  # were far away


def test_the_pixel_filter_costs_little(planted: Floats, examples: Examples) -> None:
    """The fit does not know of the filter's blur; it changes pictures by a fifth of a byte."""
    renderer = AnalyticRenderer(WIDTH, HEIGHT, weights=planted)
    filtered = [(scene, renderer.render([scene])[0].pixels) for scene, _ in examples]
    assert apart(fit(filtered, CLEVR), planted).mean() < 0.5


def test_targets_that_are_not_linear_light_are_noticed(planted: Floats, examples: Examples) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(look, "linear", lambda pixels: pixels / 255.0)
        assert apart(fit(examples, CLEVR), planted).mean() > 5.0


def test_colors_in_another_order_are_noticed(planted: Floats, examples: Examples) -> None:
    turned = [(scene, np.ascontiguousarray(pixels[..., ::-1])) for scene, pixels in examples]
    assert apart(fit(turned, CLEVR), planted).mean() > 100 * ROUNDING


def test_linear_light_and_bytes_are_inverse() -> None:
    every = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, axis=2)
    back = np.empty_like(every)
    finish(linear(every), 0.0, look._curve(), back)
    assert np.abs(back.astype(int) - every).max() <= 1
    assert linear(np.array([0, 188, 255], np.uint8)) == pytest.approx([0.0, 0.5029, 1.0], abs=1e-4)


def test_the_shipped_weights_are_whole() -> None:
    weights = shipped_weights()
    assert weights.shape == (3, 22) and weights.dtype == np.float64 and np.isfinite(weights).all()
    for kind, n in enumerate(TERMS):
        assert weights[kind, :n].all() and not weights[kind, n:].any()
    assert (weights[:2, :4] > 0.0).all()  # each light makes ground and rubber brighter
