"""Makes CLEVR's shapes and the cone as meshes, from measured facts: half extent 1, centered at the origin.

Facts: the cube's edges and corners are rounded over .25 (flat faces 1.5 x 1.5) as a superellipsoid of
exponent 3, the cylinder's edges over about .1 with exponent 3.8; the cone has its base at -1, its apex at +1.
"""

from __future__ import annotations

from itertools import chain, pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.blender_assets.mesh import Mesh

Floats = NDArray[np.float64]

CUBE_ROUND, CUBE_POWER = 0.25, 3.0  # how far the rounding reaches, and its superellipsoid's exponent
CUBE_STEPS = 10  # from a face to the middle of an edge
SPHERE_AROUND, SPHERE_DOWN = 96, 48
CYLINDER_AROUND, CYLINDER_STEPS = 128, 12
CYLINDER_POWER = 3.8  # of the superellipse that rounds the edges
CYLINDER_TOP, CYLINDER_BOTTOM = (0.09, 0.1), (0.068, 0.1)  # the rounding's reach in radius and in height
CONE_AROUND, CONE_SIDE, CONE_ROUND, CONE_STEPS = 96, 8, 0.03, 8


def shapes() -> dict[str, Mesh]:
    """Every shape we ship, by name."""
    return {"cube": cube(), "sphere": sphere(), "cylinder": cylinder(), "cone": cone()}


def cube() -> Mesh:
    """A cube with rounded edges: each side is a grid; points beyond the flat faces move onto the rounding."""
    flat = 1.0 - CUBE_ROUND
    bend = CUBE_ROUND * np.tan(np.linspace(0.0, np.pi / 4, CUBE_STEPS + 1))
    bend[-1] = CUBE_ROUND  # exactly, so that neighboring sides meet
    line = np.concatenate([-(flat + bend[::-1]), flat + bend]).tolist()
    index: dict[tuple[float, ...], int] = {}
    faces = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            for (left, right), (low, high) in product(pairwise(line), pairwise(line)):
                square = [(left, low), (right, low), (right, high), (left, high)]
                points = [tuple(np.roll((sign, u, v), axis).tolist()) for u, v in square]
                face = tuple(index.setdefault(point, len(index)) for point in points)
                faces.append(face if sign > 0 else face[::-1])
    vertices, normals = _rounded(np.array(list(index)), flat)
    return Mesh(vertices, tuple(faces), normals[np.concatenate(faces)])


def _rounded(points: Floats, flat: float) -> tuple[Floats, Floats]:
    """(N, 3) points of the cube, moved onto the rounding |x|^p + |y|^p + |z|^p = r^p, and their normals."""
    core = np.clip(points, -flat, flat)
    out = points - core
    out /= np.sum(np.abs(out) ** CUBE_POWER, axis=1, keepdims=True) ** (1.0 / CUBE_POWER)
    normals = np.sign(out) * np.abs(out) ** (CUBE_POWER - 1.0)
    return core + CUBE_ROUND * out, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def sphere() -> Mesh:
    """A ball of radius 1."""
    angle = np.linspace(0.0, np.pi, SPHERE_DOWN + 1)[1:-1]
    profile = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    return _turned(profile, profile, SPHERE_AROUND, top=1.0, bottom=-1.0)


def cylinder() -> Mesh:
    """A cylinder whose edges are rounded by a superellipse."""
    top, top_normal = _rim(*CYLINDER_TOP)
    bottom, bottom_normal = _rim(*CYLINDER_BOTTOM)
    flip = np.array([1.0, -1.0])
    profile = np.concatenate([top, (bottom * flip)[::-1]])
    normals = np.concatenate([top_normal, (bottom_normal * flip)[::-1]])
    return _turned(profile, normals, CYLINDER_AROUND, top=1.0, bottom=-1.0)


def _rim(width: float, height: float) -> tuple[Floats, Floats]:
    """Profile (radius, z) of the upper edge from the cap down to the side, and its outward normals."""
    angle = np.linspace(np.pi / 2, 0.0, CYLINDER_STEPS + 1)
    u = np.cos(angle) ** (2.0 / CYLINDER_POWER)
    w = np.sin(angle) ** (2.0 / CYLINDER_POWER)
    u[0], w[-1] = 0.0, 0.0
    points = np.stack([1.0 - width + width * u, 1.0 - height + height * w], axis=1)
    normals = np.stack([u ** (CYLINDER_POWER - 1) / width, w ** (CYLINDER_POWER - 1) / height], axis=1)
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def cone() -> Mesh:
    """A cone with a smooth side, its apex at +1, and a small rounding around the base, radius 1 there."""
    # The side, k radius + z = 1, touches the rounding's circle, radius r, center (1 - r, r - 1), outside.
    r, far, near = CONE_ROUND, 2.0 - CONE_ROUND, 1.0 - CONE_ROUND
    square = near**2 - r**2
    k = (far * near - ((far * near) ** 2 - square * (far**2 - r**2)) ** 0.5) / square
    slope = np.array([k, 1.0]) / (k**2 + 1.0) ** 0.5  # outward normal of the side in (radius, z)
    angle = np.linspace(np.arctan2(slope[1], slope[0]), -np.pi / 2, CONE_STEPS + 1)
    angle[np.abs(angle).argmin()] = 0.0  # the widest point is a vertex
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rim = np.array([near, -near]) + r * arc
    apex = np.array([0.0, 1.0])
    side = apex + (rim[0] - apex) * np.linspace(0.0, 1.0, CONE_SIDE + 1)[1:-1, None]
    profile = np.concatenate([side, rim])
    normals = np.concatenate([np.tile(slope, (len(side), 1)), arc])
    return _turned(profile, normals, CONE_AROUND, top=1.0, bottom=-1.0, tip=slope)


def _turned(
    profile: Floats, normals: Floats, around: int, top: float, bottom: float, tip: Floats | None = None
) -> Mesh:
    """A body of revolution about z, from its profile (K, 2) of (radius, z), top first, and its normals.

    Fans around two points on the axis close it; the normals at the upper one lean as `tip` says (an apex).
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = len(profile)
    vertices = np.concatenate([_spin(profile, angle).reshape(-1, 3), [(0.0, 0.0, top), (0.0, 0.0, bottom)]])
    ring_normals = _spin(normals, angle).reshape(-1, 3)  # of vertex ring * around + k
    upper = _spin(np.array([tip if tip is not None else (0.0, 1.0)]), angle + np.pi / around)[0]
    lower = np.broadcast_to((0.0, 0.0, -1.0), (around, 3))
    shading = np.concatenate(
        [ring_normals, upper, lower]
    )  # a row for each ring's vertex, then one for each fan
    faces: list[tuple[int, ...]] = []
    corners: list[int] = []
    for k in range(around):
        after, last = (k + 1) % around, (rings - 1) * around
        starts = range(0, last, around)
        sides = [(start + k, start + around + k, start + around + after, start + after) for start in starts]
        top_fan, bottom_fan = rings * around, rings * around + 1
        faces += [(top_fan, k, after), *sides, (bottom_fan, last + after, last + k)]
        corners += [rings * around + k, k, after, *chain(*sides)]
        corners += [(rings + 1) * around + k, last + after, last + k]
    return Mesh(vertices, tuple(faces), shading[corners])


def _spin(profile: Floats, angle: Floats) -> Floats:
    """(K, 2) of (radius, z) turned about z to (K, len(angle), 3)."""
    radius, z = profile[:, :1], profile[:, 1:]
    heights = np.broadcast_to(z, (len(profile), len(angle)))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), heights], axis=-1)


def write_obj(mesh: Mesh, path: Path, title: str) -> None:
    """Writes a mesh with its corner normals, if it has them."""
    lines = [f"# {title}"]
    lines += ["v " + " ".join(f"{x:.6g}" for x in row) for row in mesh.vertices.round(6) + 0.0]
    if mesh.corner_normals is None:
        lines += ["f " + " ".join(str(i + 1) for i in face) for face in mesh.faces]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        return
    rows = [tuple(row) for row in (mesh.corner_normals.round(5) + 0.0).tolist()]
    table = {row: i + 1 for i, row in enumerate(dict.fromkeys(rows))}
    lines += ["vn " + " ".join(f"{x:.6g}" for x in row) for row in table]
    corner = iter(rows)
    lines += ["f " + " ".join(f"{i + 1}//{table[next(corner)]}" for i in face) for face in mesh.faces]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
