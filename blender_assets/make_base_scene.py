"""Makes CLEVR's empty stage: camera, lights and the ground that rises to a wall. Runs inside Blender only.

Its numbers are those of `stage_facts.py`. Beside it the two materials of CLEVR's objects as node trees; the color is
the object's own (Object Info). Rubber mixes diffuse and velvet (sheen .6) by the Fresnel factor of IOR + .2, then that
and light gray glossy (Beckmann, roughness .5916) by the Fresnel factor of IOR 1.2; metal mixes two anisotropic GGX
lobes.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np

from trex.blender_assets.stage_facts import (
    GROUND_COLUMNS,
    GROUND_DEPTH,
    GROUND_LOCATION,
    GROUND_ROWS,
    GROUND_TURN,
    LAMPS,
    SUN_ANGLE,
    SUN_ENERGY,
    SUN_LOCATION,
    SUN_ROTATION,
    Lamp,
    Vec3,
    wall_curve,
)
from trex.scenes.camera import FOCAL_MM, HEIGHT_PX, POSITION, SENSOR_MM, WIDTH_PX


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
