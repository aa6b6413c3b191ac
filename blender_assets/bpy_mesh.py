"""Turns an OBJ mesh into a Blender mesh, shaded as its file says. Runs inside Blender only."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
import numpy as np

from trex.blender_assets.mesh import Mesh, read_obj
from trex.foundation.errors import InputError

SHARP_DEG = 30.0  # edges between faces that differ by more stay sharp where the file gives no normals


def mesh_from_obj(path: Path, name: str) -> bpy.types.Mesh:
    """A new Blender mesh from an OBJ file; InputError as read_obj, or where Blender finds the mesh broken."""
    return make_mesh(name, read_obj(path))


def make_mesh(name: str, mesh: Mesh) -> bpy.types.Mesh:
    """A new Blender mesh, smooth: with the mesh's own normals, or without them sharp at edges over SHARP_DEG.

    Raises InputError where Blender would have to repair the mesh (a face or an edge given twice).
    """
    built = bpy.data.meshes.new(name)
    built.from_pydata(mesh.vertices.tolist(), [], [list(face) for face in mesh.faces])
    if built.validate():
        bpy.data.meshes.remove(built)
        raise InputError(
            f"mesh {name!r} has faces that Blender cannot use; remove doubled faces, export it again"
        )
    built.shade_smooth()
    if mesh.corner_normals is None:
        built.set_sharp_from_angle(angle=math.radians(SHARP_DEG))
    else:
        built.normals_split_custom_set(np.asarray(mesh.corner_normals, dtype=np.float32).tolist())
    built.update()
    return built
