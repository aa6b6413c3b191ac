"""CLEVR's world inside Blender: built once, then edited for each scene. Runs only in the Blender process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from trex.blender_assets.bpy_mesh import mesh_from_obj
from trex.foundation.errors import InputError
from trex.render.assets import file_sha256
from trex.render.blender.settings import Settings
from trex.render.presets import Preset
from trex.scenes.properties import RADIUS, RGB
from trex.scenes.scene import NUISANCES, Nuisance, Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR

POOL = 10  # objects of each kind, CLEVR's maximum; grows for larger scenes
Kind = tuple[str, str]  # shape, material
GRAY = (0.8, 0.8, 0.8, 1.0)
INDEX_PASS = "IndexOB" if bpy.app.version < (5, 0, 0) else "Object Index"  # renamed in Blender 5.0
FloatPass = NDArray[np.float32]


class Stage:
    """The base scene and a pool of objects of each shape and material, which are moved and hidden, never recreated.

    An object keeps its mesh and the mesh its material, so that Cycles keeps their acceleration structures between
    scenes (a material linked to the object instead costs 10 CPU-ms per render).
    """

    def __init__(self, settings: Settings) -> None:
        bpy.ops.wm.open_mainfile(filepath=settings.base_scene, load_ui=False, use_scripts=False)
        self.scene = bpy.context.scene
        give_materials(self.scene)
        self.base = {part.name: base_values(self.scene, part) for part in NUISANCES}
        self.meshes: dict[Kind, bpy.types.Mesh] = {}
        for shape, path, sha256 in settings.meshes:
            self._add_meshes(shape, mesh_from_obj(Path(path), shape))
            if file_sha256(path) != sha256:
                raise InputError(
                    f"mesh {path} of shape {shape!r} has changed since this renderer was made; start again"
                )
        self.pool: dict[Kind, list[bpy.types.Object]] = {kind: [] for kind in self.meshes}
        for kind in self.pool:
            self._grow(kind, POOL)
        set_up_cycles(self.scene, settings.preset, settings.threads)
        self.size = (settings.preset.height, settings.preset.width)
        self.passes: dict[str, FloatPass] = {}
        self._read_passes_after_render()

    def render(self, scene: Scene) -> tuple[FloatPass, FloatPass]:
        """Linear RGBA (H, W, 4) and object index (H, W), row 0 at the top."""
        self._edit(scene)
        self.passes.clear()
        bpy.ops.render.render(write_still=False)
        return self.passes["Combined"], self.passes[INDEX_PASS][..., 0]

    def blend_file(self, scene: Scene) -> bytes:
        """The scene as a .blend file, without the pool's hidden objects.

        Rendered in Blender, it gives the same picture; its own conversion to bytes may differ by 1.
        """
        self._edit(scene)
        hidden = [thing for things in self.pool.values() for thing in things if thing.hide_render]
        for thing in hidden:
            self.scene.collection.objects.unlink(thing)
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "scene.blend"
                bpy.ops.wm.save_as_mainfile(
                    filepath=str(path), copy=True, compress=True, relative_remap=False
                )
                return path.read_bytes()
        finally:
            for thing in hidden:
                self.scene.collection.objects.link(thing)

    def _edit(self, scene: Scene) -> None:
        used = dict.fromkeys(self.pool, 0)
        for index, item in enumerate(scene.objects):
            kind = (item.shape, item.material)
            self._grow(kind, used[kind] + 1)
            place(self.pool[kind][used[kind]], item, index + 1)
            used[kind] += 1
        for kind, things in self.pool.items():
            for thing in things[used[kind] :]:
                thing.hide_render = True
        self._shift(scene.nuisances)
        self.scene.cycles.seed = scene.noise

    def _shift(self, nuisances: Nuisances) -> None:
        for part in NUISANCES:
            base = self.base[part.name]
            offsets = (*getattr(nuisances, part.name), *[0.0] * (len(base) - part.n))
            values = [b + o for b, o in zip(base, offsets, strict=True)]
            owner, _, name = part.path.rpartition(".")
            setattr(self.scene.path_resolve(owner), name, values if len(values) > 1 else values[0])

    def _add_meshes(self, shape: str, mesh: bpy.types.Mesh) -> None:
        for material in CLEVR.materials:
            copy = mesh.copy()
            copy.materials.clear()
            copy.materials.append(bpy.data.materials[material])
            self.meshes[shape, material] = copy

    def _grow(self, kind: Kind, size: int) -> None:
        for index in range(len(self.pool[kind]), size):
            thing = bpy.data.objects.new(f"{kind} {index}", self.meshes[kind])
            thing.hide_render = True
            self.scene.collection.objects.link(thing)
            self.pool[kind].append(thing)

    def _read_passes_after_render(self) -> None:
        """Copy the passes out of Cycles before Blender discards them: no file, no compositor."""
        engine = cycles_engine()
        original = engine.render

        def render(engine_self: bpy.types.RenderEngine, depsgraph: bpy.types.Depsgraph) -> None:
            original(engine_self, depsgraph)
            for name, channels in (("Combined", 4), (INDEX_PASS, 1)):
                flat = np.empty(self.size[0] * self.size[1] * channels, dtype=np.float32)
                engine_self.get_result().layers[0].passes[name].rect.foreach_get(flat)
                # Blender's row 0 is at the bottom.
                self.passes[name] = flat.reshape(*self.size, channels)[::-1]

        engine.render = render


def give_materials(scene: bpy.types.Scene) -> None:
    """Give a diffuse gray to whatever has no material, such as the ground.

    Before Blender 5.0 Cycles draws the same without one; since then its default is a Principled BSDF, which is
    glossy.
    """
    bare = [
        thing
        for thing in scene.objects
        if hasattr(thing.data, "materials") and not any(slot.material for slot in thing.material_slots)
    ]
    if bare:
        material = diffuse("gray")
        for thing in bare:
            thing.active_material = material


def diffuse(name: str) -> bpy.types.Material:
    """A new material that scatters 80% of the light in all directions; its node is `Diffuse`."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    shader = tree.nodes.new("ShaderNodeBsdfDiffuse")
    shader.name = "Diffuse"
    shader.inputs["Color"].default_value = GRAY
    shader.inputs["Roughness"].default_value = 0.0
    output = tree.nodes.new("ShaderNodeOutputMaterial")
    tree.links.new(shader.outputs["BSDF"], output.inputs["Surface"])
    return material


def base_values(scene: bpy.types.Scene, part: Nuisance) -> list[float]:
    """The numbers of the base scene that a nuisance is added to; of a color with alpha all four.

    InputError if its path leads to none, or to fewer than it has coordinates.
    """
    try:
        value = scene.path_resolve(part.path)
        found = [value] if isinstance(value, float) else [float(each) for each in value]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"nuisance {part.name!r}: the base scene has no decimal number or numbers at {part.path!r}; give "
            f"a path that bpy.context.scene.path_resolve finds in {Path(bpy.data.filepath).name}"
        ) from error
    if len(found) < part.n:
        raise InputError(
            f"nuisance {part.name!r} has {part.n} coordinates, but the value at {part.path!r} has {len(found)}; "
            "declare as many or fewer"
        )
    return found


def place(thing: bpy.types.Object, item: SceneObject, pass_index: int) -> None:
    """Move one object of the pool to its place in the scene, and show it."""
    radius = RADIUS[item.size]
    thing.location = (item.x, item.y, radius)
    thing.scale = (radius, radius, radius)
    thing.rotation_euler = (0.0, 0.0, item.rotation)
    # As published: the palette's values are used as linear light.
    thing.color = (*(value / 255.0 for value in RGB[item.color]), 1.0)
    thing.pass_index = pass_index
    thing.hide_render = False


def cycles_engine() -> type[bpy.types.RenderEngine]:
    """The class that connects Blender to Cycles (a bare bpy has no such name in bpy.types)."""
    engines: dict[str, type[bpy.types.RenderEngine]] = {}
    for engine in bpy.types.RenderEngine.__subclasses__():
        engines[engine.__name__] = engine
    return engines["CyclesRender"]


def set_up_cycles(scene: bpy.types.Scene, preset: Preset, threads: int) -> None:
    """Set everything that affects the pixels, whatever the base scene says."""
    cycles = scene.cycles
    cycles.samples = preset.samples
    cycles.use_animated_seed = False
    cycles.use_adaptive_sampling = False
    cycles.use_light_tree = False
    cycles.max_bounces = preset.max_bounces
    cycles.diffuse_bounces = min(4, preset.max_bounces)
    cycles.glossy_bounces = min(4, preset.max_bounces)
    cycles.transparent_max_bounces = 8
    cycles.blur_glossy = 2.0
    cycles.pixel_filter_type = "BLACKMAN_HARRIS"
    set_up_sampling(cycles, preset)
    set_up_output(scene.render, preset, threads)
    layer = scene.view_layers[0]
    layer.use_pass_object_index = True
    layer.use_pass_combined = True
    scene.update_tag()


def set_up_sampling(cycles: bpy.types.CyclesRenderSettings, preset: Preset) -> None:
    """Sampling as in CLEVR's base scene without denoising, else suited to few samples and the denoiser."""
    is_published = preset.denoise is None
    cycles.sampling_pattern = "TABULATED_SOBOL" if is_published else "AUTOMATIC"
    cycles.sample_clamp_indirect = 0.0 if is_published else 10.0
    cycles.light_sampling_threshold = 0.0 if is_published else 0.01
    cycles.use_denoising = preset.denoise is not None
    if preset.denoise is not None:
        _take_denoiser(cycles, preset)
        cycles.denoising_input_passes = "RGB_ALBEDO_NORMAL"
        cycles.denoising_prefilter = "FAST"
        cycles.denoising_quality = preset.denoise.upper()
        cycles.denoising_use_gpu = False  # until a device is chosen (session.take_denoiser)


def _take_denoiser(cycles: bpy.types.CyclesRenderSettings, preset: Preset) -> None:
    try:
        cycles.denoiser = "OPENIMAGEDENOISE"
    except TypeError as error:  # the value is not among the property's
        raise InputError(
            f"this build of Blender {bpy.app.version_string} has no OpenImageDenoise, which preset {preset.name!r} "
            "needs; use Blender's own build, or a preset without denoising, such as 'clevr'"
        ) from error


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
