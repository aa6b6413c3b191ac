"""The fake renderer is exact where Blender is: its masks are the definition of what is visible."""

from __future__ import annotations

import numpy as np
import pytest

from tests.worlds.render_worlds import prior_scenes, three_objects
from trex.foundation.errors import InputError
from trex.render.fake import FakeRenderer
from trex.scenes.visibility import id_map, visible_pixels
from trex.scenes.vocabulary import CLEVR


def test_masks_are_the_id_map() -> None:
    for scene, picture in zip(prior_scenes(4), FakeRenderer(480, 320).render(prior_scenes(4)), strict=True):
        assert np.array_equal(picture.mask, id_map(scene, CLEVR))
        assert np.array_equal(picture.visible_pixels(len(scene.objects)), visible_pixels(scene, CLEVR))


def test_metal_and_rubber_differ_and_the_ground_is_gray() -> None:
    picture = FakeRenderer().render([three_objects()])[0]
    assert len({int(picture.pixels[picture.mask == i].sum(axis=1).max()) for i in (1, 2, 3)}) == 3
    ground = picture.pixels[picture.mask == 0]
    assert (ground == ground[0]).all() and len(set(ground[0].tolist())) == 1


def test_a_picture_of_no_pixels_is_refused() -> None:
    with pytest.raises(InputError, match="0 x 80"):
        FakeRenderer(0)
