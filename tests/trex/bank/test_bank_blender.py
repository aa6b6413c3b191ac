"""A bank of real renders, at the looks that banks are for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.worlds.banks import SMALL
from trex.bank.bank import bank_of
from trex.query.schema import RenderSection
from trex.render.picture import Picture
from trex.render.presets import preset_named

OTHER = 45.0  # least mean error of a channel at the objects' pixels, 0-255, between two scenes


def rendered(look: str, folder: Path) -> list[Picture]:
    section = RenderSection(preset=look, device="cpu", processes=1)
    with bank_of(SMALL, section, folder) as bank:
        bank.render(2)
        assert (bank.rendered_now, bank.count()) == (2, 2)
    with bank_of(SMALL, section, folder) as bank:
        pictures = bank.renderer.render(bank.scenes(range(2)))
        assert bank.rendered_now == 0
        return pictures


@pytest.mark.slow
@pytest.mark.blender
@pytest.mark.process
@pytest.mark.parametrize(("cheap", "dear", "most"), [("sketch", "fast", 25), ("sharp", "reference", 10)])
def test_a_cheap_look_is_like_the_dear_one_of_its_size(
    cheap: str, dear: str, most: float, tmp_path: Path
) -> None:
    preset = preset_named(cheap)
    ones, others = rendered(cheap, tmp_path), rendered(dear, tmp_path)
    for picture, other in zip(ones, others, strict=True):
        assert picture.pixels.shape == (preset.height, preset.width, 3)
        assert picture.scene == other.scene and np.array_equal(picture.mask, other.mask)
        assert 0.0 < error(picture, other) < most
    assert error(ones[0], others[1]) > OTHER


def error(picture: Picture, other: Picture) -> float:
    """Mean absolute difference where either has an object."""
    where = (picture.mask > 0) | (other.mask > 0)
    return float(np.abs(picture.pixels[where].astype(float) - other.pixels[where]).mean())
