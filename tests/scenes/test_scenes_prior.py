"""The prior: its support is validity, its sampler is exact, and the analytic id map says what is seen."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.references.statistics import ALPHA
from trex.foundation.errors import InputError
from trex.scenes.camera import project
from trex.scenes.edits import Edit, attribute_edits, leave_out, removals
from trex.scenes.prior import SPAN, ScenePrior, draw_nuisances, draw_object, draw_positions
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_from_dict, scene_id, scene_to_dict
from trex.scenes.validity import (
    BEHIND,
    HALF_WIDTH,
    MIN_GAP,
    MIN_MARGIN,
    RIGHT,
    is_valid,
    pair_clearances,
)
from trex.scenes.visibility import CUBE_PLANES, id_map, visible_pixels
from trex.scenes.vocabulary import CLEVR, CONE, ShapeCard

SEEDS = st.integers(0, 2**32 - 1)


def naive(rng: np.random.Generator, n: int) -> Scene:
    """The definition: all drawn independently, all thrown away unless valid."""
    while True:
        scene = Scene(tuple(draw_object(rng, CLEVR) for _ in range(n)), draw_nuisances(rng))
        if is_valid(scene, CLEVR):
            return scene


def summaries(scene: Scene) -> list[float]:
    """Numbers in which a wrong sampler would differ: distances, margins, places by slot, sizes, light."""
    gap, margin = pair_clearances(scene)
    first = scene.objects[0]
    upper = np.triu_indices(len(scene.objects), 1)
    return [
        float(gap[upper].min()),
        float(margin[upper].min()),
        first.x,
        first.x * RIGHT[0] + first.y * RIGHT[1],
        scene.objects[-1].y,
        first.rotation,
        float(sum(o.size == "large" for o in scene.objects)) + first.rotation / 100,
        scene.nuisances.camera[0],
        scene.nuisances.back[2],
        float(visible_pixels(scene, CLEVR).min()),
    ]


def worst_p_value(item: list[Scene], two: list[Scene]) -> float:
    a, b = (np.array([summaries(s) for s in scenes]) for scenes in (item, two))
    return min(float(stats.ks_2samp(a[:, k], b[:, k]).pvalue) for k in range(a.shape[1]))


@cache
def naive_scenes() -> list[Scene]:
    return [naive(np.random.default_rng([1, k]), 3) for k in range(400)]


@pytest.mark.slow
def test_the_sampler_is_exact() -> None:
    rng = np.random.default_rng(2)
    prior = ScenePrior(n_objects=(3, 3))
    assert worst_p_value([prior.sample(rng) for _ in range(400)], naive_scenes()) > ALPHA / 10


@pytest.mark.slow
def test_a_sampler_that_sorts_its_objects_is_caught() -> None:
    rng = np.random.default_rng(3)
    prior = ScenePrior(n_objects=(3, 3))
    drawn = [prior.sample(rng) for _ in range(400)]
    ordered = [replace(s, objects=tuple(sorted(s.objects, key=lambda o: o.x))) for s in drawn]
    assert worst_p_value(ordered, naive_scenes()) < ALPHA / 10


def small_objects(scenes: list[Scene]) -> list[int]:
    return [sum(o.size == "small" for o in scene.objects) for scene in scenes]


def test_a_sampler_that_retries_object_by_object_is_caught() -> None:
    """CLEVR's own generator places objects one after the other: fewer small ones than the stated law (no look at
    visibility here, on either side)."""

    def sequential(rng: np.random.Generator, n: int) -> Scene:
        scene = Scene((draw_object(rng, CLEVR),), Nuisances())
        while len(scene.objects) < n:
            longer = replace(scene, objects=(*scene.objects, draw_object(rng, CLEVR)))
            gap, margin = pair_clearances(longer)
            if gap[-1, :-1].min() >= MIN_GAP and margin[-1, :-1].min() >= MIN_MARGIN:
                scene = longer
        return scene

    def at_once(rng: np.random.Generator, n: int) -> Scene:
        while True:
            scene = Scene(tuple(draw_object(rng, CLEVR) for _ in range(n)), Nuisances())
            gap, margin = pair_clearances(scene)
            upper = np.triu_indices(n, 1)
            if gap[upper].min() >= MIN_GAP and margin[upper].min() >= MIN_MARGIN:
                return scene

    rng = np.random.default_rng(4)
    exact: list[Scene] = []
    while len(exact) < 3000:
        exact += ScenePrior().candidates(rng, 6, 4096)
    assert (
        stats.ttest_ind(small_objects(exact), small_objects([sequential(rng, 6) for _ in range(1000)])).pvalue
        < ALPHA
    )
    truth = [at_once(rng, 4) for _ in range(250)]
    four = ScenePrior().candidates(rng, 4, 4096)
    assert stats.ttest_ind(small_objects(four), small_objects(truth)).pvalue > ALPHA


def test_positions_keep_margins_and_ground() -> None:
    rng = np.random.default_rng(5)
    for n in (2, 6, 10):
        where = draw_positions(rng, 1 << 16 if n == 10 else 4096, n)
        assert len(where) or n == 10
        assert np.all(np.abs(where) < 3)
        for axis in (RIGHT, BEHIND):
            along = np.sort(where @ np.asarray(axis), axis=1)
            assert np.all(np.diff(along, axis=1) > MIN_MARGIN - 1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 9])
def test_positions_are_those_of_a_sampler_that_places_all_before_it_looks(n: int) -> None:
    """To the bit: banks are named by how they were drawn, and old ones are read again."""
    batch = 1 << 17 if n == 9 else 4096
    rng = np.random.default_rng(6)
    length = np.float32(2.0 * SPAN - (n - 1) * MIN_MARGIN)
    inserted = np.arange(n, dtype=np.float32)[:, None] * np.float32(MIN_MARGIN)
    right = np.sort(rng.random((batch, n), dtype=np.float32), axis=1).T * length - np.float32(SPAN) + inserted
    behind = rng.random((n, batch), dtype=np.float32) * length - np.float32(SPAN)
    behind += np.argsort(np.argsort(behind, axis=0), axis=0).astype(np.float32) * np.float32(MIN_MARGIN)
    x, y = (right * RIGHT[axis] + behind * BEHIND[axis] for axis in (0, 1))
    stay = ((np.abs(x) < HALF_WIDTH) & (np.abs(y) < HALF_WIDTH)).all(axis=0)
    both = np.stack([right[:, stay], behind[:, stay]], axis=-1).astype(np.float64)
    where = (both @ np.array([RIGHT, BEHIND])).transpose(1, 0, 2)
    order = np.argsort(rng.random(where.shape[:2]), axis=1)
    assert len(where)
    np.testing.assert_array_equal(
        draw_positions(np.random.default_rng(6), batch, n),
        np.take_along_axis(where, order[..., None], axis=1),
    )


@settings(max_examples=25)
@given(SEEDS, st.integers(1, 7))
def test_draws_are_valid_and_have_density(seed: int, n: int) -> None:
    prior = ScenePrior(n_objects=(n, n))
    scene = prior.sample(np.random.default_rng(seed))
    assert is_valid(scene, CLEVR) and len(scene.objects) == n
    categories, ground, turn, nuisances = 3 * 2 * 8 * 2, 36.0, 2 * math.pi, 1.0 * 8.0**3
    assert prior.log_density(scene) == pytest.approx(
        -n * math.log(categories * ground * turn) - math.log(nuisances) - 31 * math.log(2)
    )
    assert scene_from_dict(scene_to_dict(scene)) == scene
    assert scene_id(scene_from_dict(scene_to_dict(scene))) == scene_id(scene)


@settings(max_examples=25)
@given(SEEDS)
def test_support_is_validity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = Scene(tuple(draw_object(rng, CLEVR) for _ in range(3)), draw_nuisances(rng))
    prior = ScenePrior(n_objects=(3, 3))
    assert (prior.log_density(scene) > -math.inf) == is_valid(scene, CLEVR)
    assert ScenePrior(n_objects=(4, 10)).log_density(scene) == -math.inf


@settings(max_examples=15)
@given(
    SEEDS, st.sampled_from(["cube", "blue spheres", "small metal things", "rubber", "big shiny red block"])
)
def test_revoked_things_never_occur(seed: int, what: str) -> None:
    vocabulary = CLEVR.revoke(what)
    pairs = CLEVR.parse_combination(what)
    scene = ScenePrior(vocabulary, (4, 4)).sample(np.random.default_rng(seed))
    assert not any(all(getattr(o, a) == v for a, v in pairs) for o in scene.objects)
    bad = replace(scene.objects[0], **dict(pairs))
    assert not vocabulary.allows(bad)
    assert not is_valid(replace(scene, objects=(bad, *scene.objects[1:])), vocabulary)


@pytest.mark.slow
def test_the_number_of_objects_is_uniform() -> None:
    rng = np.random.default_rng(6)
    prior = ScenePrior(n_objects=(1, 6))
    counts = np.bincount([len(prior.sample(rng).objects) for _ in range(600)], minlength=7)[1:]
    assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("objects", [(0, 3), (5, 4), (5, 11), (11, 11)])
def test_impossible_numbers_of_objects_are_told(objects: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="objects"):
        ScenePrior(n_objects=objects)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("cubs", "did you mean 'cubes'"),
        ("red blue things", "two values of color"),
        ("things", "names no value"),
    ],
)
def test_revoking_nonsense_is_told(what: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CLEVR.revoke(what)


def test_revoking_everything_is_told() -> None:
    with pytest.raises(InputError, match="leaves no object"):
        CLEVR.revoke("cube").revoke("sphere").revoke("cylinder")


def test_a_cone_is_introduced() -> None:
    with_cone = CLEVR.introduce(CONE)
    assert len(with_cone.combinations()) == 128 and "cone" not in CLEVR.shapes
    assert with_cone.words()["cones"] == ("shape", "cone")
    with pytest.raises(InputError, match="already"):
        with_cone.introduce(CONE)


@pytest.mark.parametrize(
    ("name", "plural", "nouns", "part"),
    [
        ("brick", "bricks", ("brick", "block"), "'block' means cube, 'blocks' means cube"),
        ("red", "reds", (), "'red' means red"),
        ("tile", "balls", ("tile",), "'balls' means sphere"),
        ("thing", "things", ("thing",), "'thing' means anything"),
    ],
)
def test_a_shape_does_not_take_over_a_word(name: str, plural: str, nouns: tuple[str, ...], part: str) -> None:
    """Planted bug: with a brick that is also called block, "How many blocks" asked for bricks."""
    with pytest.raises(InputError, match=part):
        CLEVR.introduce(ShapeCard(name, plural, "cube", "cube.obj", nouns))


def test_of_two_introduced_shapes_each_keeps_its_words() -> None:
    tent = ShapeCard("tent", "tents", "cone", "cone.obj", ("tent", "cone"))
    with pytest.raises(InputError, match="'cone' means cone"):
        CLEVR.introduce(CONE).introduce(tent)
    assert CLEVR.introduce(tent).with_cards([CONE, *CLEVR.cards]).shapes == (*CLEVR.shapes, "tent", "cone")


def alone(shape: str, size: str = "large", x: float = 0.0, y: float = 0.0, rotation: float = 0.0) -> Scene:
    return Scene((SceneObject(shape, size, "red", "rubber", x, y, rotation),), Nuisances())


def test_a_cube_is_the_hull_of_its_corners() -> None:
    """The same body as a polytope given by a user's mesh: the same map; and it is its projected corners' hull."""
    from scipy.spatial import ConvexHull

    hull = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in CUBE_PLANES)
    vocabulary = CLEVR.introduce(ShapeCard("box", "boxes", "mesh", "box.obj", ("box",), hull))
    for turn in (0.0, 0.7):
        cube, box = alone("cube", rotation=turn), alone("box", rotation=turn)
        assert np.array_equal(id_map(cube, CLEVR), id_map(box, vocabulary))
        corners = np.array([(x, y, z) for x in (-0.7, 0.7) for y in (-0.7, 0.7) for z in (0.0, 1.4)])
        spin = np.array(
            [(math.cos(turn), -math.sin(turn), 0), (math.sin(turn), math.cos(turn), 0), (0, 0, 1)]
        )
        px, py, _ = project(corners @ spin.T)
        assert visible_pixels(cube, CLEVR)[0] == pytest.approx(
            ConvexHull(np.stack([px, py], 1)).volume, rel=0.01
        )


def test_bodies_inside_one_another_are_seen_so() -> None:
    """Cone within cylinder within cube, sphere within cylinder: fewer pixels in this order."""
    with_cone = CLEVR.introduce(CONE)
    maps = {shape: id_map(alone(shape, rotation=0.3), with_cone) > 0 for shape in with_cone.shapes}
    for inner, outer in (("cone", "cylinder"), ("cylinder", "cube"), ("sphere", "cylinder")):
        assert not np.any(maps[inner] & ~maps[outer]) and maps[inner].sum() < maps[outer].sum()


def test_what_stands_in_front_hides() -> None:
    front = SceneObject("cube", "large", "red", "rubber", 1.2, -1.0, 0.0)
    back = SceneObject("sphere", "small", "blue", "metal", -0.1, 0.13, 0.0)
    both, lone = Scene((front, back), Nuisances()), Scene((back,), Nuisances())
    hidden = visible_pixels(both, CLEVR)[1]
    assert hidden < visible_pixels(lone, CLEVR)[0]
    assert hidden >= 200 or not is_valid(both, CLEVR)
    swapped = Scene((back, front), Nuisances())
    assert visible_pixels(swapped, CLEVR)[0] == hidden


def test_the_camera_offset_moves_the_picture() -> None:
    scene = alone("cube", x=1.0)
    shifted = replace(scene, nuisances=Nuisances(camera=(0.4, -0.4, 0.3)))
    assert not np.array_equal(id_map(scene, CLEVR), id_map(shifted, CLEVR))


@settings(max_examples=15)
@given(SEEDS, st.integers(0, 4))
def test_leaving_one_out_keeps_the_rest(seed: int, index: int) -> None:
    scene = ScenePrior(n_objects=(5, 5)).sample(np.random.default_rng(seed))
    remaining = leave_out(scene, index)
    assert remaining.nuisances == scene.nuisances and len(remaining.objects) == 4
    assert remaining.objects == tuple(o for k, o in enumerate(scene.objects) if k != index)
    before, after = id_map(scene, CLEVR), id_map(remaining, CLEVR)
    untouched = before != index + 1
    renumbered = np.where(before > index + 1, before - 1, before)
    assert np.array_equal(after[untouched], renumbered[untouched])


def test_edits_are_all_single_changes() -> None:
    scene = ScenePrior(n_objects=(5, 5)).sample(np.random.default_rng(8))
    edits = list(attribute_edits(scene, CLEVR))
    assert len(edits) == 5 * (2 + 1 + 7 + 1) and len(list(removals(scene))) == 5
    for edit in edits:
        changed = edit.apply(scene)
        different = [k for k, (a, b) in enumerate(zip(changed.objects, scene.objects, strict=True)) if a != b]
        assert different == [edit.index] and changed.nuisances == scene.nuisances
    with pytest.raises(InputError, match="does not exist"):
        Edit(7).apply(scene)


@pytest.mark.parametrize(
    "change",
    [
        {"objects": 3},
        {"nuisances": {"lamp": [0, 0, 0]}},
        {"objects": [{"shape": "cube"}]},
        {"objects": [{**{}}]},
    ],
    ids=str,
)
def test_a_broken_scene_record_is_told(change: dict[str, object]) -> None:
    record = scene_to_dict(alone("cube")) | change
    with pytest.raises(InputError, match="not a scene"):
        scene_from_dict(record)
