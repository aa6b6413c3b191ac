"""Blender finds in our base scene what was measured in CLEVR's."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from trex.render.blender.program import blender_program
from trex.render.similarity import mean_ssim

ROOT = Path(__file__).resolve().parents[2]
LAMPS = {  # location, size, energy (W), color: reference/RENDERING.md, "The look"
    "Key": ((6.44671, -2.90517, 4.2584), 0.5, 78.539818, (1.0, 0.932309, 0.816664)),
    "Fill": ((-4.67112, -4.0136, 3.01122), 0.5, 23.561945, (0.761666, 0.81772, 1.0)),
    "Back": ((-1.1685, 2.64602, 5.81574), 1.0, 39.269909, (1.0, 1.0, 1.0)),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Blender says of our assets."""
    scratch = tmp_path_factory.mktemp("assets")
    (scratch / "user").mkdir()
    program = blender_program()
    if program.is_executable:
        pytest.skip("TREX_BLENDER names no Python, which this script needs")
    environment = os.environ | {"BLENDER_USER_RESOURCES": str(scratch / "user"), "PYTHONPATH": str(ROOT)}
    command = [
        program.path,
        "-P",
        str(ROOT / "tests" / "blender_assets" / "assets_in_blender.py"),
        str(scratch),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    facts: dict[str, Any] = json.loads((scratch / "found.json").read_text(encoding="utf-8"))
    return facts


@pytest.mark.process
def test_base_scene_holds_what_was_measured(found: dict[str, Any]) -> None:
    objects = found["shipped"]["objects"]
    assert set(objects) == {"Camera", "Target", "Key", "Fill", "Back", "Sun", "Ground"}
    np.testing.assert_allclose(objects["Camera"]["location"], (7.48113, -6.50764, 5.34367), atol=1e-5)
    assert found["shipped"]["camera"] == [35.0, 32.0, "AUTO"]
    assert found["shipped"]["view"] == ["Standard", 0.0, 1.0]
    assert found["shipped"]["world_strength"] == 0.0
    for name in ("Camera", *LAMPS):
        assert objects[name]["tracks"] == [["Target", "TRACK_NEGATIVE_Z", "UP_Y"]]
    assert objects["Target"]["location"] == [0.0, 0.0, 0.0]


@pytest.mark.process
@pytest.mark.parametrize("name", LAMPS)
def test_lamp_is_as_measured(name: str, found: dict[str, Any]) -> None:
    lamp, (location, size, energy, color) = found["shipped"]["objects"][name], LAMPS[name]
    np.testing.assert_allclose(lamp["location"], location, atol=1e-5)
    np.testing.assert_allclose([lamp["size"], lamp["energy"]], [size, energy], rtol=1e-6)
    np.testing.assert_allclose(lamp["color"], color, atol=1e-6)
    assert lamp["kind"] == "AREA" and not lamp["visible_camera"]


@pytest.mark.process
def test_sun_and_ground_are_as_measured(found: dict[str, Any]) -> None:
    sun, ground = (found["shipped"]["objects"][name] for name in ("Sun", "Ground"))
    np.testing.assert_allclose(sun["rotation"], (0.236028, 0.41688, 0.097079), atol=1e-6)
    np.testing.assert_allclose([sun["energy"], sun["size"]], [0.45, 0.199337], rtol=1e-6)
    np.testing.assert_allclose(ground["location"], (-24.06276, -17.99667, 0.0), atol=1e-4)
    np.testing.assert_allclose(ground["rotation"], (0.0, 0.0, 2.697982), atol=1e-5)
    low, high = np.array(found["shipped"]["ground"])
    np.testing.assert_allclose(high - low, (27.6, 56.5, 23.2), atol=0.1)


@pytest.mark.process
def test_materials_take_their_color_from_the_object(found: dict[str, Any]) -> None:
    assert found["shipped"]["materials"] == {
        "metal": [
            "BsdfAnisotropic GGX 0.1000 ObjectInfo",
            "BsdfAnisotropic GGX 0.4472 ObjectInfo",
            "MixShader",
            "ObjectInfo",
            "OutputMaterial",
        ],
        "rubber": [
            "BsdfAnisotropic BECKMANN 0.5916",
            "BsdfDiffuse 0.0000 ObjectInfo",
            "BsdfSheen ASHIKHMIN 0.6000 ObjectInfo",
            "Fresnel 1.20",
            "Fresnel 1.40",
            "MixShader",
            "MixShader",
            "ObjectInfo",
            "OutputMaterial",
        ],
    }


@pytest.mark.process
def test_script_makes_the_scene_that_is_shipped(found: dict[str, Any]) -> None:
    assert found["made"] == found["shipped"]
    assert found["shipped"]["linked"] == 0
    assert found["beside"] == ["made.blend"]


@pytest.mark.process
def test_blender_shades_shapes_by_their_own_normals(found: dict[str, Any]) -> None:
    assert max(found["shading"]["worst"].values()) < 2e-3  # Blender keeps 16 bits of an angle


@pytest.mark.process
def test_box_without_normals_keeps_sharp_edges(found: dict[str, Any]) -> None:
    assert found["shading"]["box"] > 0.999


@pytest.mark.process
def test_mesh_that_blender_would_repair_is_refused(found: dict[str, Any]) -> None:
    assert "doubled" in found["shading"]["refused"]


def test_ssim_is_that_of_skimage() -> None:
    metrics = pytest.importorskip("skimage.metrics", reason="scikit-image is not installed")
    rng = np.random.default_rng(5)
    first = rng.integers(0, 256, size=(40, 60, 3), dtype=np.uint8)
    darker: NDArray[np.uint8] = (first * 0.9 + 9).astype(np.uint8)
    for second in (first, np.invert(first), darker):
        expected = metrics.structural_similarity(first, second, channel_axis=2)
        assert mean_ssim(first, second) == pytest.approx(expected, abs=1e-12)
