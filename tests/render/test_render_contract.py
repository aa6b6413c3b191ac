"""One suite for every renderer: the fake, the shaded look, Blender, and a cache in front of them.

The fake is exact where Blender is: its masks are the definition of what is visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.render_worlds import crowd, moved, prior_scenes, three_objects, without
from trex.foundation.errors import InputError
from trex.render.analytic.look import AnalyticRenderer
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.cache import CachedRenderer
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.render.renderer import SceneRenderer
from trex.scenes.scene import Nuisances, Scene, scene_id
from trex.scenes.visibility import id_map, visible_pixels
from trex.scenes.vocabulary import CLEVR


@pytest.fixture(scope="module")
def blender() -> Iterator[BlenderRenderer]:
    with BlenderRenderer("draft", device="cpu") as renderer:
        yield renderer


@pytest.fixture(
    params=[
        "fake",
        "cached fake",
        "analytic",
        pytest.param("blender", marks=pytest.mark.blender),
        pytest.param("cached blender", marks=pytest.mark.blender),
    ]
)
def renderer(request: pytest.FixtureRequest, tmp_path: Path) -> SceneRenderer:
    name = request.param
    shaded = AnalyticRenderer(120, 80) if name == "analytic" else FakeRenderer()
    inner: SceneRenderer = request.getfixturevalue("blender") if "blender" in name else shaded
    return CachedRenderer(inner, tmp_path / "cache") if "cached" in name else inner


def same(first: Picture, second: Picture) -> bool:
    return (
        np.array_equal(first.pixels, second.pixels)
        and np.array_equal(first.mask, second.mask)
        and first.scene == second.scene
    )


def test_no_scenes_give_no_pictures(renderer: SceneRenderer) -> None:
    assert renderer.render([]) == []


def test_order_and_length_are_kept_also_for_repeats(renderer: SceneRenderer) -> None:
    first, second, third = prior_scenes(3)
    zs = [second, first, second, third, first]
    pictures = renderer.render(zs)
    assert [picture.scene for picture in pictures] == [scene_id(z) for z in zs]
    assert same(pictures[0], pictures[2]) and same(pictures[1], pictures[4])
    assert not np.array_equal(pictures[0].pixels, pictures[1].pixels)


def test_a_picture_depends_on_its_scene_alone(renderer: SceneRenderer) -> None:
    zs = prior_scenes(4)
    alone = renderer.render(zs[:1])[0]
    renderer.render(zs[1:])
    assert same(renderer.render(list(reversed(zs)))[-1], alone)


def test_pictures_have_pixels_and_a_mask_of_one_size_and_cannot_be_changed(renderer: SceneRenderer) -> None:
    picture = renderer.render([three_objects()])[0]
    assert picture.pixels.shape == (80, 120, 3) and picture.mask.shape == (80, 120)
    assert picture.pixels.dtype == np.uint8 and picture.mask.dtype == np.uint8
    assert set(np.unique(picture.mask)) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="read-only"):
        picture.pixels[0, 0, 0] = 1


def test_the_mask_is_where_the_object_has_its_color(renderer: SceneRenderer) -> None:
    picture = renderer.render([three_objects()])[0]
    strongest = [int(picture.pixels[picture.mask == i + 1].mean(axis=0).argmax()) for i in range(3)]
    assert strongest == [0, 2, 1]  # the red, the blue and the green one


def test_row_0_is_the_top_and_column_0_the_left(renderer: SceneRenderer) -> None:
    mask = renderer.render([three_objects()])[0].mask
    near, far = (np.argwhere(mask == i).mean(axis=0) for i in (2, 3))
    assert near[0] > far[0]  # the near one lies lower in the picture
    assert near[1] < far[1]


def test_leaving_one_out_keeps_what_was_seen_of_the_others(renderer: SceneRenderer) -> None:
    scene = max(prior_scenes(6), key=lambda z: len(z.objects))
    whole, *pictures = renderer.render([scene, *(without(scene, i) for i in range(len(scene.objects)))])
    for left_out, picture in enumerate(pictures):
        ids = np.where(
            picture.mask > left_out, picture.mask + 1, picture.mask
        )  # as numbered in the whole scene
        others = (whole.mask != 0) & (whole.mask != left_out + 1)
        assert np.array_equal(ids[others], whole.mask[others])


def test_moving_an_object_moves_its_mask_and_nothing_else_s(renderer: SceneRenderer) -> None:
    scene = three_objects()
    before, after = renderer.render([scene, moved(scene, 1, 0.4)])
    assert not np.array_equal(before.mask == 2, after.mask == 2)
    assert not np.array_equal(before.pixels, after.pixels)
    for other in (1, 3):
        assert np.array_equal(before.mask == other, after.mask == other)


def test_lights_change_pixels_and_no_mask_the_camera_changes_both(renderer: SceneRenderer) -> None:
    scene = three_objects()
    lit = [replace(scene, nuisances=Nuisances(**{name: (0.5, 0.3, 0.9)})) for name in ("key", "fill", "back")]
    seen = replace(scene, nuisances=Nuisances(camera=(0.4, 0.2, -0.3)))
    plain, *shaded, turned = renderer.render([scene, *lit, seen])
    for picture in shaded:
        assert np.array_equal(picture.mask, plain.mask)
        assert not np.array_equal(picture.pixels, plain.pixels)
    assert not np.array_equal(turned.mask, plain.mask)


def test_a_scene_without_objects_and_one_with_many(renderer: SceneRenderer) -> None:
    empty = Scene((), Nuisances())
    nothing, many, again = renderer.render([empty, crowd(23), empty])
    assert not nothing.mask.any() and same(nothing, again)
    assert set(np.unique(many.mask)) == set(range(24))


@pytest.mark.parametrize("field", ["shape", "size", "color", "material"])
def test_an_unknown_word_is_refused_before_anything_is_rendered(renderer: SceneRenderer, field: str) -> None:
    scene = three_objects()
    odd = replace(scene.objects[2], **{field: "corgi"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="corgi"):
        renderer.render([scene, replace(scene, objects=(*scene.objects[:2], odd))])


@pytest.mark.slow
def test_a_number_that_is_none_is_refused(renderer: SceneRenderer) -> None:
    scene = three_objects()
    with pytest.raises(InputError, match="finite"):
        renderer.render([replace(scene, objects=(replace(scene.objects[0], x=float("nan")),))])


def test_the_key_is_one_line_that_does_not_change(renderer: SceneRenderer) -> None:
    assert renderer.key == renderer.key and "\n" not in renderer.key


@pytest.mark.slow
def test_close_is_not_the_end(renderer: SceneRenderer) -> None:
    before = renderer.render([three_objects()])[0]
    renderer.close()
    assert same(renderer.render([three_objects()])[0], before)


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
