"""The analytic look shows what is there: masks, shadows, mirrored neighbors. It sees nothing else.

Its contract is in `test_render_contract.py`; at the end stand its key and how close it comes to Blender's pictures.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import binary_erosion

from tests.render.analytic.scenes import (
    EMPTY,
    EVERY,
    HEIGHT,
    WIDTH,
    beside,
    lit,
    pixel_at,
    pixels_of,
    rows_of,
)
from tests.worlds.render_worlds import prior_scenes, three_objects, without
from trex.blender_assets.stage_facts import LAMPS
from trex.render.analytic import look
from trex.render.analytic.look import AnalyticRenderer, shipped_weights, write_weights
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.picture import Picture
from trex.scenes.properties import RADIUS
from trex.scenes.scene import Nuisances, Scene, SceneObject, Vec3
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR

SIDEWAYS = 1.5  # of a lamp's distance from the middle, so that the ball does not hide its own shadow
NOISES = (0, 1, 77, (1 << 31) - 1)
# Largest share of the bodies' pixels in which the masks may differ: a cone is drawn as a pyramid of 24 sides. The id
# map's cubes have sharp edges, Blender's and these round ones, so of a cube only the rim may be missing.
SHARES = {"sphere": 0.0, "cylinder": 0.0, "ramp": 0.0, "cone": 0.02, "cube": 0.15}


class Grainy(AnalyticRenderer):
    """A planted bug: a look that sees the noise seed."""

    def _picture(self, scene: Scene) -> Picture:
        picture = super()._picture(scene)
        pixels = picture.pixels.copy()
        pixels[0, 0, 0] += scene.noise % 2
        return Picture(pixels, picture.mask, picture.scene)


@pytest.fixture(scope="module")
def every() -> AnalyticRenderer:
    return AnalyticRenderer(WIDTH, HEIGHT, EVERY)


def sees_noise(renderer: AnalyticRenderer, scenes: Sequence[Scene]) -> bool:
    """Whether a picture differs between noise seeds."""
    for scene in scenes:
        first, *others = renderer.render([replace(scene, noise=noise) for noise in NOISES])
        if any(not same(first, other) for other in others):
            return True
    return False


def same(a: Picture, b: Picture) -> bool:
    return np.array_equal(a.pixels, b.pixels) and np.array_equal(a.mask, b.mask)


@pytest.mark.parametrize("shape", sorted(SHARES))
def test_masks_are_the_id_map_but_for_edges(every: AnalyticRenderer, shape: str) -> None:
    scene = rows_of(shape)
    mask, ids = every.render([scene])[0].mask, id_map(scene, EVERY, WIDTH, HEIGHT)
    assert set(np.unique(mask)) == set(range(6))
    differ = mask != ids
    assert differ.sum() <= SHARES[shape] * np.count_nonzero(ids)
    for i in range(6):
        assert np.all(mask[binary_erosion(ids == i, iterations=3)] == i)


def test_no_picture_depends_on_the_noise_seed(every: AnalyticRenderer) -> None:
    scenes = [three_objects(), *prior_scenes(2)]
    assert not sees_noise(every, scenes)
    assert sees_noise(Grainy(WIDTH, HEIGHT), scenes)


def test_no_picture_depends_on_its_batch_or_on_threads(every: AnalyticRenderer) -> None:
    scenes = [*prior_scenes(5), three_objects(), rows_of("ramp"), EMPTY]
    alone = [every.render([scene])[0] for scene in scenes]
    assert all(map(same, alone, every.render(scenes)))
    assert all(map(same, alone, reversed(every.render(scenes[::-1]))))
    threaded = AnalyticRenderer(WIDTH, HEIGHT, EVERY, threads=3).render([*scenes, *scenes])
    assert all(map(same, [*alone, *alone], threaded))
    assert [picture.scene for picture in threaded[:8]] == [picture.scene for picture in alone]


@pytest.mark.parametrize("index", range(3), ids=[lamp.name for lamp in LAMPS])
def test_a_shadow_moves_with_its_lamp(index: int) -> None:
    """By one lamp's light, the floor is dark where a line from it through a ball's middle ends, and nowhere else."""
    lamp, radius, weights = LAMPS[index], RADIUS["large"], np.zeros((3, 22))
    weights[0, index] = 0.5  # nothing but what the ground gets of this lamp
    by_lamp = AnalyticRenderer(WIDTH, HEIGHT, weights=weights)
    ball = Scene((SceneObject("sphere", "large", "gray", "rubber", 0.0, 0.0, 0.0),), Nuisances())
    shares, spots = [], []
    for side in (SIDEWAYS, -SIDEWAYS):
        offset = (-side * lamp.location[1], side * lamp.location[0], 0.0)
        scenes = [lit(z, **{lamp.name.lower(): offset}) for z in (EMPTY, ball)]
        bare, shaded = (look.linear(picture.pixels).sum(axis=2) for picture in by_lamp.render(scenes))
        shares.append(shaded / np.maximum(bare, 1e-6))
        reach = -radius / (lamp.location[2] - radius)
        spots.append(pixel_at(*(reach * (lamp.location[axis] + offset[axis]) for axis in (0, 1))))
        assert by_lamp.render([ball])[0].mask[spots[-1]] == 0
    for mine, other in ((0, 1), (1, 0)):
        assert shares[mine][spots[mine]] < 0.1 and shares[other][spots[mine]] > 0.9


def test_metal_mirrors_its_neighbor_in_its_color_and_rubber_hardly(every: AnalyticRenderer) -> None:
    """Gray bodies beside a red cube, then a green one: 0.86 of 255 in the mean and 26 at most in metal, here."""
    changes = {}
    for material in ("metal", "rubber"):
        red, green = pixels_of(every, beside(material, "red"), beside(material, "green"))
        changes[material] = (red - green)[every.render([beside(material, "red")])[0].mask == 1]
    metal, rubber = (np.abs(changes[material]) for material in ("metal", "rubber"))
    assert 0.0 < 3.0 * rubber.mean() < metal.mean() and metal.max() > 20.0
    image = changes["metal"][metal.max(axis=1) > 10.0]
    assert image[:, 0].mean() > 0.0 > image[:, 1].mean()


@pytest.mark.parametrize("shape", ["sphere", "cube", "cylinder", "cone", "ramp"])
def test_the_nearer_body_hides_the_farther_one_in_whatever_order(every: AnalyticRenderer, shape: str) -> None:
    near = SceneObject("sphere", "large", "blue", "rubber", 1.0, -0.9, 0.0)
    far = SceneObject(shape, "small", "red", "metal", -0.2, 0.3, 0.4)
    both = [Scene(objects, Nuisances()) for objects in ((near, far), (far, near))]
    first, second = every.render(both)
    alone = [every.render([Scene((item,), Nuisances())])[0].mask > 0 for item in (near, far)]
    assert np.any(alone[0] & alone[1])
    assert np.array_equal(first.mask == 1, alone[0])
    assert np.array_equal(first.mask == 2, alone[1] & ~alone[0])
    assert np.array_equal(np.array([0, 2, 1], np.uint8)[first.mask], second.mask)
    assert np.abs(first.pixels.astype(int) - second.pixels).max() <= 1  # sums in another order


def test_an_empty_scene_is_bare_ground(every: AnalyticRenderer) -> None:
    picture = every.render([EMPTY])[0]
    pixels = picture.pixels.astype(int)
    assert not picture.mask.any()
    assert pixels.min() > 90 and pixels.max() < 170
    assert np.ptp(pixels, axis=2).max() <= 12  # gray, but for the lamps' tints
    assert max(np.abs(np.diff(pixels, axis=axis)).max() for axis in (0, 1)) <= 3  # smooth


def test_a_body_far_away_leaves_the_picture_alone(every: AnalyticRenderer) -> None:
    (item, *_) = three_objects().objects
    away = Scene((replace(item, x=1e4, y=1e4),), Nuisances())
    assert same(*every.render([EMPTY, away]))


@pytest.mark.parametrize(
    "moved",
    [
        {"camera": (1e4, 0.0, 0.0)},
        {"camera": (0.0, -1e4, 0.0)},
        {"camera": (0.0, 0.0, -1e4)},
        {"camera": (-7.3, 6.0, -3.5)},  # inside a body
        {"camera": (0.0, 0.0, -6.0)},  # below the floor
        {"key": tuple(-value for value in LAMPS[0].location)},  # at the origin
        {"back": (0.0, 0.0, -LAMPS[2].location[2])},  # on the floor
        {"fill": (1e4, 1e4, 1e4)},
    ],
)
def test_a_foreign_scene_of_odd_numbers_is_drawn_without_a_warning(moved: dict[str, Vec3]) -> None:
    small = AnalyticRenderer(60, 40)
    scene = replace(three_objects(), nuisances=Nuisances(**moved))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = small.render([scene, scene])
    assert same(first, second)


def test_pictures_are_those_of_this_version(every: AnalyticRenderer) -> None:
    """A change of the code or of the weights that changes these raises `look.VERSION`, and the numbers here.

    Means over regions, not bytes: the last bits of sines and roots differ between machines.
    """
    plain = three_objects()
    turned = replace(
        rows_of("ramp"),
        nuisances=Nuisances((0.3, -0.2, 0.4), (0.5, 0.5, -0.5), (-0.4, 0.2, 0.6), (0.1, -0.8, 0.3)),
    )
    found = {name: means(every.render([scene])[0]) for name, scene in (("plain", plain), ("turned", turned))}
    assert found.keys() == GOLDEN.keys()
    for name, expected in GOLDEN.items():
        assert np.abs(np.array(found[name]) - expected).max() <= 1.0, found[name]


def means(picture: Picture) -> list[list[float]]:
    """The mean color of each body, then of the ground's four quarters."""
    quarters = np.add.outer(np.arange(HEIGHT) >= HEIGHT // 2, 2 * (np.arange(WIDTH) >= WIDTH // 2))
    regions = [picture.mask == i for i in range(1, int(picture.mask.max()) + 1)]
    regions += [(picture.mask == 0) & (quarters == quarter) for quarter in range(4)]
    return [np.round(picture.pixels[region].mean(axis=0), 1).tolist() for region in regions]


GOLDEN = {
    "plain": [
        [114.6, 55.9, 55.0], [45.5, 58.5, 95.1], [40.1, 73.3, 32.2],
        [115.0, 115.1, 116.1], [131.4, 130.3, 129.5], [110.4, 110.3, 109.8], [141.0, 139.1, 136.0],
    ],
    "turned": [
        [102.6, 48.4, 48.1], [89.4, 43.7, 44.0], [110.5, 51.2, 50.2], [117.9, 58.0, 56.7], [120.2, 56.9, 55.8],
        [111.7, 111.7, 112.4], [127.2, 126.0, 125.2], [108.2, 107.8, 107.7], [143.0, 140.6, 137.2],
    ],
}  # fmt: skip


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
