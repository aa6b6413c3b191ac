"""The shapes we ship: closed, outward, half extent 1, rounded as measured; and the OBJ reader."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trex.blender_assets import mesh as mesh_module
from trex.blender_assets.load import FOLDER
from trex.blender_assets.make_shapes import shapes, write_obj
from trex.blender_assets.mesh import Mesh, read_obj
from trex.foundation.errors import InputError
from trex.scenes.vocabulary import CLEVR, CONE

NAMES = ("cube", "sphere", "cylinder", "cone")
VOLUMES = {"cube": (7.7, 8.0), "sphere": (4.17, 4.19), "cylinder": (6.2, 6.284), "cone": (2.09, 2.2)}
TETRAHEDRON = "v 1 1 1\nv -1 -1 1\nv -1 1 -1\nv 1 -1 -1\nf 1 2 4\nf 1 3 2\nf 1 4 3\nf 2 3 4\n"


def load(name: str) -> Mesh:
    return read_obj(FOLDER / "shapes" / f"{name}.obj")


def is_closed(mesh: Mesh) -> bool:
    """Whether every edge belongs to exactly two faces, once in each direction."""
    edges = Counter((a, b) for face in mesh.faces for a, b in zip(face, (*face[1:], face[0]), strict=True))
    return all(count == 1 and edges[b, a] == 1 for (a, b), count in edges.items())


def volume(mesh: Mesh) -> float:
    """Signed: positive where the faces are seen from outside."""
    total = 0.0
    for first, *others in mesh.faces:
        for b, c in pairwise(others):
            total += float(np.linalg.det(mesh.vertices[[first, b, c]])) / 6.0
    return total


def face_normals(mesh: Mesh) -> NDArray[np.float64]:
    """A unit normal for each corner: that of its face (Newell)."""
    rows = []
    for face in mesh.faces:
        points = mesh.vertices[list(face)]
        normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
        rows += [normal / np.linalg.norm(normal)] * len(face)
    return np.array(rows)


@pytest.mark.parametrize("name", NAMES)
def test_shape_is_a_closed_body_of_half_extent_1(name: str) -> None:
    shape = load(name)
    assert is_closed(shape)
    assert VOLUMES[name][0] < volume(shape) < VOLUMES[name][1]
    np.testing.assert_allclose(shape.vertices.max(axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(shape.vertices.min(axis=0), -1.0, atol=1e-6)
    assert len(shape.vertices) < 6000


@pytest.mark.parametrize("name", NAMES)
def test_normals_lie_near_those_of_their_faces(name: str) -> None:
    shape = load(name)
    assert shape.corner_normals is not None
    cosine = np.sum(shape.corner_normals * face_normals(shape), axis=1)
    assert np.degrees(np.arccos(cosine.min())) < 10.0


def test_a_hole_a_flipped_face_and_a_flipped_body_are_noticed() -> None:
    cube = load("cube")
    assert not is_closed(replace(cube, faces=cube.faces[1:]))
    assert not is_closed(replace(cube, faces=(cube.faces[0][::-1], *cube.faces[1:])))
    assert volume(replace(cube, faces=tuple(face[::-1] for face in cube.faces))) < 0


@pytest.mark.parametrize("name", NAMES)
def test_shipped_mesh_is_what_the_script_makes(name: str, tmp_path: Path) -> None:
    write_obj(shapes()[name], tmp_path / "made.obj", name)
    mesh, shipped = read_obj(tmp_path / "made.obj"), load(name)
    assert mesh.faces == shipped.faces
    np.testing.assert_allclose(mesh.vertices, shipped.vertices, atol=2e-6)
    assert mesh.corner_normals is not None and shipped.corner_normals is not None
    np.testing.assert_allclose(mesh.corner_normals, shipped.corner_normals, atol=3e-5)


def test_cube_has_flat_faces_and_rounded_edges() -> None:
    vertices = load("cube").vertices
    top = vertices[np.isclose(vertices[:, 2], 1.0)]
    np.testing.assert_allclose(np.abs(top[:, :2]).max(), 0.75, atol=1e-6)
    edge = vertices[np.isclose(vertices[:, 0], 0.75) & np.isclose(vertices[:, 1], vertices[:, 2])]
    # At 45 degrees |y|^3 + |z|^3 = .25^3 gives .75 + .25 / 2^(1/3).
    np.testing.assert_allclose(edge[:, 1].max(), 0.75 + 0.25 / 2 ** (1 / 3), atol=1e-5)


def test_sphere_is_round() -> None:
    np.testing.assert_allclose(np.linalg.norm(load("sphere").vertices, axis=1), 1.0, atol=2e-6)


def test_cylinder_is_round_with_flat_caps() -> None:
    vertices = load("cylinder").vertices
    radius = np.hypot(vertices[:, 0], vertices[:, 1])
    np.testing.assert_allclose(radius[np.abs(vertices[:, 2]) <= 0.9 + 1e-6], 1.0, atol=2e-6)
    np.testing.assert_allclose(radius[np.isclose(vertices[:, 2], 1.0)].max(), 0.91, atol=1e-5)


def test_cone_has_its_apex_on_top_and_a_straight_side() -> None:
    vertices = load("cone").vertices
    top = vertices[vertices[:, 2].argmax()]
    np.testing.assert_allclose(top, (0.0, 0.0, 1.0), atol=1e-6)
    radius = np.hypot(vertices[:, 0], vertices[:, 1])
    side = (vertices[:, 2] > -0.94) & (vertices[:, 2] < 0.999)
    slopes = (1.0 - vertices[side, 2]) / radius[side]
    assert np.ptp(slopes) < 1e-4 and 1.9 < slopes.mean() < 2.0
    assert np.isclose(radius[vertices[:, 2] > -1 + 1e-6].max(), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_card_agrees_with_the_vocabulary(name: str) -> None:
    facts = tomllib.loads((FOLDER / "shapes" / f"{name}.toml").read_text(encoding="utf-8"))
    card = CONE if name == "cone" else CLEVR.card(name)
    assert (facts["name"], facts["plural"], facts["outline"], facts["mesh"]) == (
        card.name,
        card.plural,
        card.outline,
        card.mesh,
    )
    assert tuple(facts["nouns"]) == card.nouns
    assert facts["licence"] == "Apache-2.0" and facts["made_by"]


def test_reader_takes_what_exporters_write(tmp_path: Path) -> None:
    path = tmp_path / "shape.obj"
    extra = "# comment\nmtllib ../../etc/passwd\no thing\ns 1\nvt 0 0\nusemtl x\n"
    path.write_text(
        extra + TETRAHEDRON.replace("f 2 3 4", "f -3/1 -2/1 -1/1  # from the end"), encoding="ascii"
    )
    mesh = read_obj(path)
    assert mesh.faces == ((0, 1, 3), (0, 2, 1), (0, 3, 2), (1, 2, 3))
    assert mesh.vertices.shape == (4, 3) and mesh.corner_normals is None
    assert is_closed(mesh)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 1 2\n", "line 1: 2 numbers"),
        ("v 1 2 x\n", "'x' is not a number"),
        ("v 1 2 nan\n", "out of range"),
        ("v 1 2 1e300\n", "out of range"),
        ("v 0 0 0\nv 1 0 0\nf 1 2\n", "a face of 2 corners"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "vertex 4 does not exist; 3 are given"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0\n", "vertex 0 does not exist"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n", "vertex -4 does not exist"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 two\n", "'two' is no vertex index"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 2\n", "names a vertex twice"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3\n", "some corners have a normal"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 0\nf 1//1 2//1 3//1\n", "a normal has length 0"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\nf 3 2 1\n", "some faces have normals"),
        ("v 0 0 0\n", "1 vertices and no face"),
        ("", "no face"),
        ("import os\n", "'import' is not understood"),
        ("f " + "1 " * 300, "a face of 300 corners"),
    ],
)
def test_reader_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.obj"
    path.write_text(text, encoding="ascii")
    with pytest.raises(InputError, match=message) as caught:
        read_obj(path)
    assert "bad.obj" in str(caught.value)


def test_reader_refuses_what_is_no_text_file(tmp_path: Path) -> None:
    binary = tmp_path / "mesh.obj"
    binary.write_bytes(b"BLENDER\xff\xfe\x00")
    for path, message in (
        (binary, "no text"),
        (tmp_path, "not a file"),
        (tmp_path / "none.obj", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message):
            read_obj(path)


def test_reader_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.obj"
    path.write_text(TETRAHEDRON, encoding="ascii")
    monkeypatch.setattr(mesh_module, "MAX_VERTICES", 3)
    with pytest.raises(InputError, match="more than 3 vertices"):
        read_obj(path)
    monkeypatch.setattr(mesh_module, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="the limit is 10 bytes"):
        read_obj(path)
