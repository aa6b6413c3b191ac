"""What convergence is judged by: no summary depends on the order of the objects, each sees what it is named after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trex.inference.targets import high_confidence
from trex.inference.types import Draw, State
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene
from trex.scenes.vocabulary import CLEVR
from trex.worlds.latents import Latent
from trex.worlds.shipped.clevr import depths, least_distance, mean_distance, scene_summaries

TARGET = high_confidence(("0", "1"), "1")
SCENE = ScenePrior(CLEVR, (5, 5)).sample(np.random.default_rng(20_263))


def draw(scene: Scene) -> Draw[Latent]:
    return Draw(State(scene, 0.0, 0.0, np.log([0.4, 0.6])), chain=0)


def values(scene: Scene, n_objects: tuple[int, int] = (3, 7)) -> dict[str, float]:
    return {name: f(draw(scene)) for name, f in scene_summaries(TARGET, CLEVR, n_objects).items()}


def moved(scene: Scene, index: int, x: float, y: float) -> Scene:
    item = replace(scene.objects[index], x=x, y=y)
    return replace(scene, objects=(*scene.objects[:index], item, *scene.objects[index + 1 :]))


@pytest.mark.parametrize("seed", range(5))
def test_no_summary_depends_on_the_order_of_the_objects(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(5)
    shuffled = replace(SCENE, objects=tuple(SCENE.objects[i] for i in order))
    assert values(shuffled) == pytest.approx(values(SCENE), rel=1e-12)
    planted = [
        np.hypot(scene_object.x, scene_object.y) for scene_object in (SCENE.objects[0], shuffled.objects[0])
    ]  # of one slot
    assert order[0] == 0 or planted[0] != planted[1]


def test_distances_and_depths_are_those_of_a_scene_made_by_hand() -> None:
    three = replace(SCENE, objects=SCENE.objects[:3], nuisances=Nuisances())
    scene = moved(moved(moved(three, 0, 0.0, 0.0), 1, 3.0, 0.0), 2, 0.0, 2.0)
    assert mean_distance(scene) == pytest.approx((3.0 + 2.0 + 13**0.5) / 3)
    assert least_distance(scene) == 2.0
    assert depths(scene)[0] == pytest.approx((7.48113**2 + 6.50764**2 + 5.34367**2) ** 0.5)
    assert depths(scene)[1] < depths(scene)[0] < depths(scene)[2]  # the camera is at positive x, negative y


def changed(other: Scene) -> set[str]:
    before, after = values(SCENE), values(other)
    return {name for name in before if before[name] != after[name]}


def test_each_change_of_a_scene_is_seen() -> None:
    light = replace(SCENE.nuisances, fill=(0.1, *SCENE.nuisances.fill[1:]))
    assert changed(replace(SCENE, nuisances=light)) == {"fill light offset"}
    camera = replace(SCENE.nuisances, camera=(0.3, 0.3, 0.3))
    assert changed(replace(SCENE, nuisances=camera)) == {
        "camera offset", "mean depth", "least depth"}  # fmt: skip
    item = replace(SCENE.objects[1], x=SCENE.objects[1].x + 0.01)
    there = replace(SCENE, objects=(SCENE.objects[0], item, *SCENE.objects[2:]))
    assert {"mean distance", "mean depth"} <= changed(there)


def test_the_number_of_objects_is_judged_where_it_varies() -> None:
    assert values(SCENE)["number of objects"] == 5.0
    assert "number of objects" not in values(SCENE, (5, 5))
    alone = replace(SCENE, objects=SCENE.objects[:1])
    assert (values(alone)["mean distance"], values(alone)["least distance"]) == (0.0, 0.0)
