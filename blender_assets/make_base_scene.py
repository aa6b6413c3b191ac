"""Makes CLEVR's empty stage: camera, lights and the ground that rises to a wall. Runs inside Blender only.

The numbers are facts measured on CLEVR's base scene as Blender 4.5 reads it (clevr-dataset-gen). Beside it the two
materials of CLEVR's objects as node trees; the color is the object's own (Object Info). Rubber mixes diffuse and velvet
(sheen .6) by the Fresnel factor of IOR + .2, then that and light gray glossy (Beckmann, roughness .5916) by the Fresnel
factor of IOR 1.2; metal mixes two anisotropic GGX lobes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from trex.scenes.camera import FOCAL_MM, HEIGHT_PX, POSITION, SENSOR_MM, WIDTH_PX

Vec3 = tuple[float, float, float]


@dataclass(frozen=True)
class Lamp:
    """A square area light that faces the origin; size in Blender units, energy in watts, color linear RGB."""

    name: str
    location: Vec3
    size: float
    energy: float
    color: Vec3


LAMPS = (
    Lamp("Key", (6.44671, -2.90517, 4.2584), 0.5, 78.539818, (1.0, 0.932309, 0.816664)),
    Lamp("Fill", (-4.67112, -4.0136, 3.01122), 0.5, 23.561945, (0.761666, 0.81772, 1.0)),
    Lamp("Back", (-1.1685, 2.64602, 5.81574), 1.0, 39.269909, (1.0, 1.0, 1.0)),
)
SUN_ROTATION, SUN_ENERGY, SUN_ANGLE = (0.236028, 0.41688, 0.097079), 0.45, 0.199337
SUN_LOCATION = (11.6608, -6.628, 25.8232)

GROUND_LOCATION, GROUND_TURN, GROUND_DEPTH = (-24.06276, -17.99667, 0.0), 2.697982, 56.485
# The wall curve is a Bezier curve of degree 4 in the ground's own x and z.
GROUND_CURVE = ((-23.5557, 0.0), (-0.4271, 0.0), (1.5413, 0.0), (2.2163, 0.0), (4.0812, 23.2149))
GROUND_ROWS, GROUND_COLUMNS = 96, 2


def make_base_scene(path: Path) -> None:
    """Writes a .blend of Camera, Target, Key, Fill, Back, Sun, Ground and the materials rubber and metal."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.name = "Scene"
    target = _add("Target", None)
    _add_camera(target)
    for lamp in LAMPS:
        _add_lamp(lamp, target)
    _add_sun()
    _add_ground()
    make_rubber()
    make_metal()
    _set_render(scene)
    _save(path)


def _add(name: str, data: bpy.types.ID | None, location: Vec3 = (0.0, 0.0, 0.0)) -> bpy.types.Object:
    built = bpy.data.objects.new(name, data)
    built.location = location
    bpy.context.scene.collection.objects.link(built)
    return built


def _track(thing: bpy.types.Object, target: bpy.types.Object) -> None:
    constraint = thing.constraints.new("TRACK_TO")
    constraint.target = target
    constraint.track_axis = "TRACK_NEGATIVE_Z"
    constraint.up_axis = "UP_Y"


def _add_camera(target: bpy.types.Object) -> None:
    data = bpy.data.cameras.new("Camera")
    data.lens, data.sensor_width, data.sensor_height, data.sensor_fit = FOCAL_MM, SENSOR_MM, 18.0, "AUTO"
    data.clip_start, data.clip_end = 0.1, 100.0
    camera = _add("Camera", data, POSITION)
    _track(camera, target)
    bpy.context.scene.camera = camera


def _add_lamp(lamp: Lamp, target: bpy.types.Object) -> None:
    data = bpy.data.lights.new(lamp.name, "AREA")
    data.shape, data.size, data.energy, data.color = "SQUARE", lamp.size, lamp.energy, lamp.color
    built = _add(lamp.name, data, lamp.location)
    built.visible_camera = False
    _track(built, target)


def _add_sun() -> None:
    data = bpy.data.lights.new("Sun", "SUN")
    data.energy, data.angle = SUN_ENERGY, SUN_ANGLE
    built = _add("Sun", data, SUN_LOCATION)
    built.rotation_euler = SUN_ROTATION
    built.visible_camera = False


def wall_curve(rows: int) -> NDArray[np.float64]:
    """(rows + 1, 2): the ground's profile, x and z in its own frame."""
    t = np.linspace(0.0, 1.0, rows + 1)[:, None]
    degree = len(GROUND_CURVE) - 1
    weights = [comb(degree, k) * t**k * (1.0 - t) ** (degree - k) for k in range(degree + 1)]
    curve: NDArray[np.float64] = np.concatenate(weights, axis=1) @ np.asarray(GROUND_CURVE)
    return curve


def _add_ground() -> None:
    profile = wall_curve(GROUND_ROWS)
    depth = np.linspace(0.0, -GROUND_DEPTH, GROUND_COLUMNS + 1)
    vertices = [(x, y, z) for y in depth.tolist() for x, z in profile.tolist()]
    width = GROUND_ROWS + 1
    faces = [
        (c * width + r, (c + 1) * width + r, (c + 1) * width + r + 1, c * width + r + 1)
        for c in range(GROUND_COLUMNS)
        for r in range(GROUND_ROWS)
    ]
    mesh = bpy.data.meshes.new("Ground")
    mesh.from_pydata(vertices, [], faces)
    mesh.shade_smooth()
    ground = _add("Ground", mesh, GROUND_LOCATION)
    ground.rotation_euler = (0.0, 0.0, GROUND_TURN)


def _set_render(scene: bpy.types.Scene) -> None:
    world = bpy.data.worlds.new("World")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.0
    scene.world = world
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = WIDTH_PX, HEIGHT_PX
    scene.render.resolution_percentage = 100
    scene.render.filepath = "//"
    scene.render.dither_intensity = 0.0
    scene.display_settings.display_device = "sRGB"
    scene.view_settings.view_transform = "Standard"
    scene.view_settings.exposure, scene.view_settings.gamma = 0.0, 1.0
    cycles = scene.cycles
    cycles.blur_glossy, cycles.max_bounces, cycles.transparent_max_bounces = 2.0, 12, 8
    cycles.use_light_tree, cycles.use_adaptive_sampling, cycles.seed = False, False, 0


def _forget_folders() -> None:
    """Drops the hidden workspaces, and the folder that Blender's file browser starts in: this user's."""
    areas = [area for screen in bpy.data.screens for area in screen.areas]
    for space in (space for area in areas for space in area.spaces):
        if space.type == "FILE_BROWSER" and space.params:
            space.params.directory = b"//"
    shown = bpy.context.window_manager.windows[0].workspace
    bpy.data.batch_remove([workspace for workspace in bpy.data.workspaces if workspace != shown])


def _save(path: Path) -> None:
    _forget_folders()
    bpy.context.preferences.filepaths.save_version = 0  # no .blend1 beside it
    bpy.ops.outliner.orphans_purge(do_local_ids=True, do_linked_ids=True, do_recursive=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True, copy=True)


RUBBER_IOR, RUBBER_SHEEN_IOR = 1.2, 1.4
RUBBER_SHEEN, RUBBER_ROUGHNESS, RUBBER_GLOSS = 0.6, 0.35**0.5, 0.8
METAL_ROUGHNESS, METAL_ANISOTROPY, METAL_MIX = (0.2**0.5, 0.1), 0.25, 0.6


def make_rubber() -> bpy.types.Material:
    """The matte material, `rubber`."""
    material, tree, color, output = _material("rubber")
    diffuse = _node(tree, "ShaderNodeBsdfDiffuse", Roughness=0.0)
    velvet = _node(tree, "ShaderNodeBsdfSheen", Roughness=RUBBER_SHEEN)
    velvet.distribution = "ASHIKHMIN"
    gloss = _node(tree, "ShaderNodeBsdfAnisotropic", Roughness=RUBBER_ROUGHNESS, Anisotropy=0.0)
    gloss.distribution = "BECKMANN"
    gloss.inputs["Color"].default_value = (RUBBER_GLOSS, RUBBER_GLOSS, RUBBER_GLOSS, 1.0)
    for node in (diffuse, velvet):
        tree.links.new(color, node.inputs["Color"])
    base = _mix(tree, diffuse, velvet, _node(tree, "ShaderNodeFresnel", IOR=RUBBER_SHEEN_IOR))
    both = _mix(tree, base, gloss, _node(tree, "ShaderNodeFresnel", IOR=RUBBER_IOR))
    tree.links.new(both.outputs["Shader"], output.inputs["Surface"])
    return material


def make_metal() -> bpy.types.Material:
    """The shiny material, `metal`."""
    material, tree, color, output = _material("metal")
    first, second = (_lobe(tree, color, roughness) for roughness in METAL_ROUGHNESS)
    both = _mix(tree, first, second, METAL_MIX)
    tree.links.new(both.outputs["Shader"], output.inputs["Surface"])
    return material


def _lobe(tree: bpy.types.NodeTree, color: bpy.types.NodeSocket, roughness: float) -> bpy.types.Node:
    lobe = _node(tree, "ShaderNodeBsdfAnisotropic", Roughness=roughness, Anisotropy=METAL_ANISOTROPY)
    lobe.distribution = "GGX"
    tree.links.new(color, lobe.inputs["Color"])
    return lobe


def _material(
    name: str,
) -> tuple[bpy.types.Material, bpy.types.NodeTree, bpy.types.NodeSocket, bpy.types.Node]:
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.use_fake_user = True
    tree = material.node_tree
    tree.nodes.clear()
    color = tree.nodes.new("ShaderNodeObjectInfo").outputs["Color"]
    return material, tree, color, tree.nodes.new("ShaderNodeOutputMaterial")


def _node(tree: bpy.types.NodeTree, kind: str, **values: float) -> bpy.types.Node:
    node = tree.nodes.new(kind)
    for name, value in values.items():
        node.inputs[name].default_value = value
    return node


def _mix(
    tree: bpy.types.NodeTree, first: bpy.types.Node, second: bpy.types.Node, factor: bpy.types.Node | float
) -> bpy.types.Node:
    """first * (1 - factor) + second * factor."""
    mix = tree.nodes.new("ShaderNodeMixShader")
    if isinstance(factor, float):
        mix.inputs["Fac"].default_value = factor
    else:
        tree.links.new(factor.outputs["Fac"], mix.inputs["Fac"])
    tree.links.new(first.outputs["BSDF" if "BSDF" in first.outputs else "Shader"], mix.inputs[1])
    tree.links.new(second.outputs["BSDF" if "BSDF" in second.outputs else "Shader"], mix.inputs[2])
    return mix
