"""Run by test_assets_blender.py in a process of its own: writes what Blender finds in our assets as JSON.

python assets_in_blender.py SCRATCH_FOLDER
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpy
import numpy as np

from trex.blender_assets.bpy_mesh import make_mesh, mesh_from_obj
from trex.blender_assets.load import FOLDER
from trex.blender_assets.make_base_scene import make_base_scene
from trex.blender_assets.mesh import Mesh, read_obj
from trex.foundation.errors import InputError


def stage(path: Path) -> dict[str, object]:
    """The facts of a base scene."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    scene = bpy.context.scene
    ground = np.array([tuple(v.co) for v in bpy.data.objects["Ground"].data.vertices])
    return {
        "objects": {thing.name: facts(thing) for thing in scene.objects},
        "materials": {material.name: nodes(material.node_tree) for material in bpy.data.materials},
        "world_strength": scene.world.node_tree.nodes["Background"].inputs["Strength"].default_value,
        "view": [scene.view_settings.view_transform, scene.view_settings.exposure, scene.view_settings.gamma],
        "camera": [scene.camera.data.lens, scene.camera.data.sensor_width, scene.camera.data.sensor_fit],
        "ground": [ground.min(axis=0).tolist(), ground.max(axis=0).tolist()],
        "linked": len(bpy.data.libraries) + len(bpy.data.images) + len(bpy.data.texts),
    }


def facts(thing: bpy.types.Object) -> dict[str, object]:
    """Place, light and constraint of an object."""
    light = thing.data if thing.type == "LIGHT" else None
    found: dict[str, object] = {
        "location": list(thing.location),
        "rotation": list(thing.rotation_euler),
        "visible_camera": thing.visible_camera,
        "tracks": [[c.target.name, c.track_axis, c.up_axis] for c in thing.constraints],
    }
    if light is not None:
        found |= {"energy": light.energy, "color": list(light.color), "kind": light.type}
        found |= {"size": light.size if light.type == "AREA" else light.angle}
    return found


def nodes(tree: bpy.types.NodeTree) -> list[str]:
    """Kind, distribution and roughness of each shader node, and whether its color comes from the object."""
    found = []
    for node in tree.nodes:
        words = [node.bl_idname.removeprefix("ShaderNode"), getattr(node, "distribution", "")]
        if "Roughness" in node.inputs:
            words.append(f"{node.inputs['Roughness'].default_value:.4f}")
        if "IOR" in node.inputs:
            words.append(f"{node.inputs['IOR'].default_value:.2f}")
        if "Color" in node.inputs and node.inputs["Color"].is_linked:
            words.append(node.inputs["Color"].links[0].from_node.bl_idname.removeprefix("ShaderNode"))
        found.append(" ".join(filter(None, words)))
    return sorted(found)


def shading() -> dict[str, object]:
    """How far Blender's normals are from those of the files; and how a box without normals is shaded."""
    worst = {}
    for name in ("cube", "sphere", "cylinder", "cone"):
        path = FOLDER / "shapes" / f"{name}.obj"
        found = np.array([tuple(n.vector) for n in mesh_from_obj(path, name).corner_normals])
        worst[name] = float(np.linalg.norm(found - read_obj(path).corner_normals, axis=1).max())
    corners = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    box = make_mesh("box", Mesh(corners, faces))
    flat = [max(abs(x) for x in normal.vector) for normal in box.corner_normals]
    return {"worst": worst, "box": min(flat), "refused": refusal(Mesh(corners, (faces[0], faces[0])))}


def refusal(mesh: Mesh) -> str:
    """The message with which a mesh is refused, or nothing."""
    try:
        make_mesh("doubled", mesh)
    except InputError as error:
        return str(error)
    return ""


def main() -> None:
    """Looks at the shipped scene, at one made anew, and at the shapes."""
    scratch = Path(sys.argv[1])
    built = scratch / "made.blend"
    make_base_scene(built)
    beside = sorted(path.name for path in scratch.iterdir() if "blend" in path.name)
    found = {
        "shipped": stage(FOLDER / "base_scene.blend"),
        "made": stage(built),
        "shading": shading(),
        "beside": beside,
    }
    (scratch / "found.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
    os._exit(0)
