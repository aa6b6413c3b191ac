"""The analytic look as a renderer: its key, its weights' file, and how close it comes to Blender's pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.render.analytic.scenes import HEIGHT, WIDTH
from tests.worlds.render_worlds import prior_scenes, three_objects, without
from trex.render.analytic.look import AnalyticRenderer, shipped_weights, write_weights
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.scenes.vocabulary import CLEVR


def test_the_key_names_what_determines_the_pixels() -> None:
    cards = CLEVR.introduce(replace(CLEVR.card("cylinder"), name="post", plural="posts", nouns=("post",)))
    keys = {
        AnalyticRenderer(WIDTH, HEIGHT).key,
        AnalyticRenderer(120, 80).key,
        AnalyticRenderer(WIDTH, HEIGHT, weights=shipped_weights() * 1.01).key,
        AnalyticRenderer(WIDTH, HEIGHT, cards).key,
    }
    assert len(keys) == 4 and AnalyticRenderer(WIDTH, HEIGHT, threads=3).key in keys


def test_written_weights_say_where_they_come_from(tmp_path: Path) -> None:
    write_weights(shipped_weights(), tmp_path / "weights.json", "no pictures")
    assert '"fitted_on": "no pictures"' in (tmp_path / "weights.json").read_text()


@pytest.mark.blender
@pytest.mark.slow
def test_pictures_are_close_to_those_of_blender() -> None:
    scenes = [*prior_scenes(4, seed=7), without(three_objects(), 1)]
    with BlenderRenderer("fast", device="cpu") as renderer:
        rendered = renderer.render(scenes)
    made = AnalyticRenderer(WIDTH, HEIGHT).render(scenes)
    for shaded, true in zip(made, rendered, strict=True):
        assert np.abs(shaded.pixels.astype(float) - true.pixels).mean() < 2.5
        assert np.mean(shaded.mask != true.mask) < 0.005
