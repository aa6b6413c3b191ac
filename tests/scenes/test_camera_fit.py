"""The camera recovered from pixel_coords: on made scenes, where it is known, and on the published ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings

from tests.references.official_clevr import OFFICIAL, raw
from tests.references.scene_strategies import scenes
from trex.foundation.errors import InputError
from trex.scenes.camera import project
from trex.scenes.clevr_format.camera_fit import fit_camera, fit_clevr_camera, from_clevr_fitted
from trex.scenes.clevr_format.scene_json import from_clevr, to_clevr
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, Vec3


@settings(max_examples=25)
@given(scenes(min_size=3))
def test_a_known_camera_is_recovered_from_its_record(scene: Scene) -> None:
    """Pixels are rounded, so the offset is only nearly the same; all are met within a pixel nevertheless."""
    fit = fit_clevr_camera(to_clevr(scene))
    assert fit.error_px < 1.0
    assert fit.error_depth < 0.02


def test_without_rounding_it_is_exact() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        points = np.column_stack([rng.uniform(-3, 3, size=(4, 2)), rng.choice([0.35, 0.7], size=4)])
        x, y, z = map(float, rng.uniform(-0.5, 0.5, size=3))
        fit = fit_camera(points, np.stack(project(points, (x, y, z)), axis=1))
        assert fit.offset == pytest.approx((x, y, z), abs=1e-6)
        assert fit.error_px < 1e-5


def shown_px(scene: Scene, offset: Vec3) -> float:
    """How far a camera at this offset shows any object from where the scene's own camera does; nothing is rounded."""
    record = json.loads(json.dumps(to_clevr(scene)))
    points = np.array([item["3d_coords"] for item in record["objects"]])
    seen, true = (np.stack(project(points, at))[:2] for at in (offset, scene.nuisances.camera))
    return float(np.abs(seen - true).max())


def known_scenes() -> list[Scene]:
    rng = np.random.default_rng(20170214)
    prior = ScenePrior(n_objects=(3, 7))
    return [prior.sample(rng) for _ in range(100)]


def test_of_a_hundred_known_cameras_each_is_recovered_within_half_a_pixel() -> None:
    """Files round pixels to whole ones, so half a pixel is what they can tell of one object; many tell more."""
    fits = [(scene, fit_clevr_camera(to_clevr(scene))) for scene in known_scenes()]
    assert sum(shown_px(scene, fit.offset) < 0.5 for scene, fit in fits) == 100
    assert all(fit.explains for _, fit in fits)
    planted = sum(
        shown_px(scene, (0.0, 0.0, 0.0)) < 0.5 for scene, _ in fits
    )  # the camera that was not moved
    assert planted == 0


def mirrored(record: dict[str, object]) -> None:
    for item in cast(list[dict[str, list[float]]], record["objects"]):
        item["pixel_coords"][0] = 480 - item["pixel_coords"][0]


def moved(record: dict[str, object]) -> None:
    cast(list[dict[str, list[float]]], record["objects"])[0]["3d_coords"][0] += 0.3


def exchanged(record: dict[str, object]) -> None:
    first, second = cast(list[dict[str, list[float]]], record["objects"])[:2]
    first["pixel_coords"], second["pixel_coords"] = second["pixel_coords"], first["pixel_coords"]


@pytest.mark.parametrize("change", [mirrored, moved, exchanged], ids=["mirrored", "moved", "exchanged"])
def test_a_scene_that_no_camera_explains_is_refused(change: Callable[[dict[str, object]], None]) -> None:
    """Each of ten scenes as it is, and none with a coordinate that is not its picture's."""
    for scene in known_scenes()[:10]:
        record = json.loads(json.dumps(to_clevr(scene)))
        from_clevr_fitted(record)
        change(record)
        with pytest.raises(InputError, match="fits no camera"):
            from_clevr_fitted(record, where="scene 7")


def test_a_mirrored_picture_is_noticed() -> None:
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.uniform(-3, 3, size=(6, 2)), np.full(6, 0.7)])
    px, py, depth = project(points, (0.1, 0.2, 0.3))
    assert fit_camera(points, np.stack([480 - px, py, depth], axis=1)).error_px > 20


def test_published_first_scene_gives_the_known_offset() -> None:
    fit = fit_clevr_camera(raw(OFFICIAL[1], "scenes")[0])
    # Found before by pixels alone, with a largest error of .46 px; the depths move it by .01.
    assert fit.offset == pytest.approx((0.373, 0.295, -0.389), abs=0.02)
    assert fit.error_px < 0.6


@pytest.mark.parametrize("name", OFFICIAL)
def test_published_scenes_fit_within_a_pixel_and_within_their_range(name: str) -> None:
    for record in raw(name, "scenes"):
        scene, fit = from_clevr_fitted(record)
        assert fit.error_px < 1.0
        assert fit.error_depth < 0.02
        assert all(abs(shift) < 0.5 + 0.01 for shift in fit.offset)
        assert scene.nuisances.camera == fit.offset
        assert scene.objects == from_clevr(record).objects


def test_nothing_to_fit_says_so() -> None:
    with pytest.raises(InputError, match="0 points and 0 pixel_coords"):
        fit_clevr_camera({"objects": []})
    with pytest.raises(InputError, match="object 0 has no 'pixel_coords'"):
        fit_clevr_camera({"objects": [{"3d_coords": [0, 0, 0.7]}]})
