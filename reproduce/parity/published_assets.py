"""Converts CLEVR's published assets (clevr-dataset-gen, the folder `data`) to the layout of our own.

Writes only to a scratch folder. The conversion keeps lights, ground, materials and meshes as Blender reads them:
objects get our names, materials take the color from the object, meshes become OBJ with their shading normals.
`main` runs inside Blender, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from trex.foundation.errors import InputError, RenderError
from trex.render.blender.program import blender_program

OBJECTS = {
    "Camera": "Camera",
    "Empty": "Target",
    "Lamp_Key": "Key",
    "Lamp_Fill": "Fill",
    "Lamp_Back": "Back",
    "Area": "Sun",
    "Ground": "Ground",
}
SHAPES = {"cube": "SmoothCube_v2", "sphere": "Sphere", "cylinder": "SmoothCylinder"}
MATERIALS = {"rubber": "Rubber", "metal": "MyMetal"}
TIMEOUT_S = 180.0
MODULE = "reproduce.parity.published_assets"


def convert_published(published: Path, out: Path) -> None:
    """Write base_scene.blend and shapes/*.obj to `out`, which can then serve as a renderer's `assets`.

    Raises InputError if a published file is missing or if there is no Blender, RenderError if that cannot read it.
    """
    for name in _files():
        if not (published / name).is_file():
            raise InputError(f"{published} has no {name}; give the assets folder of clevr-dataset-gen")
    (out / "shapes").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty:
        program = blender_program()
        command = program.command(MODULE, str(published.absolute()), str(out.absolute()))
        environment = program.environment() | {"BLENDER_USER_RESOURCES": empty}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, timeout=TIMEOUT_S, text=True)
        except subprocess.TimeoutExpired as error:
            late = f"Blender did not read {published} within {TIMEOUT_S:.0f} s; try again"
            raise RenderError(late) from error
    if done.returncode:
        raise RenderError(f"Blender could not read the published assets in {published}: {done.stderr[-800:]}")


def _files() -> list[str]:
    shapes = [f"shapes/{name}.blend" for name in SHAPES.values()]
    return ["base_scene.blend", *shapes, *(f"materials/{name}.blend" for name in MATERIALS.values())]


def _convert(published: Path, out: Path) -> None:
    """The conversion itself, inside Blender."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=str(published / "base_scene.blend"), load_ui=False, use_scripts=False)
    for theirs, ours in OBJECTS.items():
        bpy.data.objects[theirs].name = ours
    for ours, theirs in MATERIALS.items():
        _add_material(published / "materials" / f"{theirs}.blend", theirs, ours)
    bpy.ops.wm.save_as_mainfile(filepath=str(out / "base_scene.blend"), copy=True)
    for ours, theirs in SHAPES.items():
        _write_shape(published / "shapes" / f"{theirs}.blend", theirs, out / "shapes" / f"{ours}.obj")


def _add_material(path: Path, group: str, name: str) -> None:
    import bpy

    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.node_groups = [group]
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.use_fake_user = True
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeGroup")
    shader.node_tree = wanted.node_groups[0]
    color, output = tree.nodes.new("ShaderNodeObjectInfo"), tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(color.outputs["Color"], shader.inputs["Color"])
    tree.links.new(shader.outputs["Shader"], output.inputs["Surface"])


def _write_shape(path: Path, name: str, obj: Path) -> None:
    import bpy

    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.objects = [name]
    mesh = wanted.objects[0].data
    lines = ["v {:.7g} {:.7g} {:.7g}".format(*vertex.co) for vertex in mesh.vertices]
    lines += ["vn {:.6g} {:.6g} {:.6g}".format(*normal.vector) for normal in mesh.corner_normals]
    for face in mesh.polygons:
        corners = zip(face.vertices, face.loop_indices, strict=True)
        lines.append("f " + " ".join(f"{vertex + 1}//{corner + 1}" for vertex, corner in corners))
    obj.write_text("\n".join(lines) + "\n", encoding="ascii")


def main() -> None:
    """Convert the folder that the last argument but one names to the last one; ends the process."""
    published, out = sys.argv[-2:]
    _convert(Path(published), Path(out))
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
