"""CLEVR's world inside Blender: built once, then edited for each scene. Runs in the Blender process only."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from blender_assets.bpy_mesh import mesh_from_obj
from render.presets import Preset
from render.settings import Settings
from scenes.scene import Nuisances, Scene, SceneObject, Vec3
from scenes.vocabulary import RADIUS, RGB

POOL = 10  # as many objects as CLEVR has; more are added when a scene has more
JITTERED = {"camera": "Camera", "key": "Key", "fill": "Fill", "back": "Back"}
FloatPass = NDArray[np.float32]


class Stage:
    """The base scene, the shapes, the materials, and a pool of objects that are moved, not made."""

    def __init__(self, settings: Settings) -> None:
        bpy.ops.wm.open_mainfile(filepath=settings.base_scene, load_ui=False, use_scripts=False)
        self.scene = bpy.context.scene
        self.meshes = {shape: mesh_from_obj(Path(path), shape) for shape, path in settings.meshes}
        for mesh in self.meshes.values():
            mesh.materials.clear()
            mesh.materials.append(None)  # one slot, filled by each object for itself
        self.base = {field: self.scene.objects[name].location.copy() for field, name in JITTERED.items()}
        self.pool: list[bpy.types.Object] = []
        self._grow(POOL)
        set_up_cycles(self.scene, settings.preset, settings.threads)
        self.size = (settings.preset.height, settings.preset.width)
        self.passes: dict[str, FloatPass] = {}
        self._read_passes_after_render()

    def render(self, scene: Scene) -> tuple[FloatPass, FloatPass]:
        """Linear RGBA (H, W, 4) and object index (H, W), row 0 at the top."""
        self._edit(scene)
        self.passes.clear()
        bpy.ops.render.render(write_still=False)
        return self.passes["Combined"], self.passes["IndexOB"][..., 0]

    def _edit(self, scene: Scene) -> None:
        self._grow(len(scene.objects))
        for item, thing in zip(scene.objects, self.pool, strict=False):
            self._place(thing, item)
        for index, thing in enumerate(self.pool):
            thing.hide_render = index >= len(scene.objects)
        self._shift(scene.nuisances)

    def _place(self, thing: bpy.types.Object, item: SceneObject) -> None:
        radius = RADIUS[item.size]
        thing.data = self.meshes[item.shape]
        thing.location = (item.x, item.y, radius)
        thing.scale = (radius, radius, radius)
        thing.rotation_euler = (0.0, 0.0, item.rotation)
        # As published: the palette's values are taken as linear light.
        thing.color = (*(value / 255.0 for value in RGB[item.color]), 1.0)
        slot = thing.material_slots[0]
        slot.link = "OBJECT"
        slot.material = bpy.data.materials[item.material]

    def _shift(self, nuisances: Nuisances) -> None:
        for field, name in JITTERED.items():
            offset: Vec3 = getattr(nuisances, field)
            base = self.base[field]
            self.scene.objects[name].location = [b + o for b, o in zip(base, offset, strict=True)]

    def _grow(self, size: int) -> None:
        for index in range(len(self.pool), size):
            thing = bpy.data.objects.new(f"object {index}", next(iter(self.meshes.values())))
            thing.pass_index = index + 1
            thing.hide_render = True
            self.scene.collection.objects.link(thing)
            self.pool.append(thing)

    def _read_passes_after_render(self) -> None:
        """Copy the passes out of Cycles before Blender throws them away: no file, no compositor."""
        engine = cycles_engine()
        original = engine.render

        def render(engine_self: bpy.types.RenderEngine, depsgraph: bpy.types.Depsgraph) -> None:
            original(engine_self, depsgraph)
            for name, channels in (("Combined", 4), ("IndexOB", 1)):
                flat = np.empty(self.size[0] * self.size[1] * channels, dtype=np.float32)
                engine_self.get_result().layers[0].passes[name].rect.foreach_get(flat)
                self.passes[name] = flat.reshape(*self.size, channels)[::-1]  # Blender's row 0 is at the bottom

        engine.render = render


def cycles_engine() -> type[bpy.types.RenderEngine]:
    """The class through which Blender calls Cycles (its name is not always found in bpy.types)."""
    engines = {engine.__name__: engine for engine in bpy.types.RenderEngine.__subclasses__()}
    return engines["CyclesRender"]


def set_up_cycles(scene: bpy.types.Scene, preset: Preset, threads: int) -> None:
    """Every setting that has an influence on the pixels, whatever the base scene says."""
    cycles = scene.cycles
    cycles.samples = preset.samples
    cycles.seed = 0
    cycles.use_animated_seed = False
    cycles.use_adaptive_sampling = False
    cycles.use_light_tree = False
    cycles.max_bounces = preset.max_bounces
    cycles.diffuse_bounces = min(4, preset.max_bounces)
    cycles.glossy_bounces = min(4, preset.max_bounces)
    cycles.transparent_max_bounces = 8
    cycles.blur_glossy = 2.0
    cycles.pixel_filter_type = "BLACKMAN_HARRIS"
    cycles.use_denoising = preset.denoise is not None
    if preset.denoise is not None:
        cycles.denoiser = "OPENIMAGEDENOISE"
        cycles.denoising_input_passes = "RGB_ALBEDO_NORMAL"
        cycles.denoising_prefilter = "FAST"
        cycles.denoising_quality = preset.denoise.upper()
        cycles.denoising_use_gpu = False
    set_up_output(scene.render, preset, threads)
    layer = scene.view_layers[0]
    layer.use_pass_object_index = True
    layer.use_pass_combined = True
    scene.update_tag()


def set_up_output(render: bpy.types.RenderSettings, preset: Preset, threads: int) -> None:
    """Size, threads, and none of Blender's own post-processing."""
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y = preset.width, preset.height
    render.resolution_percentage = 100
    render.use_persistent_data = preset.persistent
    render.dither_intensity = 0.0
    render.film_transparent = False
    render.use_border = False
    render.use_motion_blur = False
    render.use_compositing = False
    render.use_sequencer = False
    render.threads_mode = "FIXED" if threads else "AUTO"
    if threads:
        render.threads = threads
