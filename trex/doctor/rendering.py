"""Examines what renders: the analytic look, and Blender."""

from __future__ import annotations

import time

import numpy as np

from trex.doctor.finding import Finding, State
from trex.foundation.errors import InputError, RenderError
from trex.render.analytic.look import AnalyticRenderer
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.program import VARIABLE, Program, blender_program
from trex.render.presets import ANALYTIC_SIZE
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

LOOK = "sketch"
SHADING, BLENDER, RENDERING = "analytic preset", "Blender", "rendering"


def rendering_findings() -> list[Finding]:
    """Which Blender there is; and, if there is one, the device and seconds of its start and of a scene."""
    try:
        program = blender_program()
    except InputError as error:
        return [Finding(BLENDER, State.FAULT, "none that can be used", str(error))]
    return [Finding(BLENDER, State.OK, _described(program)), _rendering()]


def shading_findings() -> list[Finding]:
    """The seconds of a scene at the analytic look, which this compiles, so that the first search does not."""
    started = time.perf_counter()
    renderer = AnalyticRenderer(*ANALYTIC_SIZE)
    renderer.render([_scene()])
    compiled = time.perf_counter()
    renderer.render([_scene()])
    ms = 1000 * (time.perf_counter() - compiled)
    how = f"compiled in {compiled - started:.1f} s, a scene of 240×160 in {ms:.0f} ms"
    return [Finding(SHADING, State.OK, how)]


def _scene() -> Scene:
    return ScenePrior(CLEVR, (3, 3)).sample(np.random.default_rng(0))


def _described(program: Program) -> str:
    if program.is_own:
        return f"{program.version}, the module bpy of this Python"
    kind = "a Blender executable" if program.is_executable else "a Python with bpy"
    return f"{program.version}, {kind}: {program.path} ({VARIABLE})"


def _rendering() -> Finding:
    scene, started = _scene(), time.perf_counter()
    try:
        with BlenderRenderer(LOOK, "auto", processes=1) as renderer:
            device, names = renderer.device, ", ".join(renderer.device_names)
            ready = time.perf_counter()
            (picture,) = renderer.render([scene])
            done = time.perf_counter()
    except (InputError, RenderError) as error:
        return Finding(RENDERING, State.FAULT, "fails", f"{error}")
    if not picture.visible_pixels(len(scene.objects)).all():
        return Finding(
            RENDERING, State.FAULT, f"on {device} ({names}): objects are missing", "try device 'cpu'"
        )
    how = f"started in {ready - started:.1f} s, a scene of 240×160 in {done - ready:.2f} s"
    return Finding(RENDERING, State.OK, f"on {device} ({names}): {how}")
