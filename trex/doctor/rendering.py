"""Examines Blender: which one it is, and whether it renders."""

from __future__ import annotations

import time

import numpy as np

from trex.doctor.finding import Finding, State
from trex.foundation.errors import InputError, RenderError
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.blender.program import VARIABLE, Program, blender_program
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR

LOOK = "sketch"
BLENDER, RENDERING = "Blender", "rendering"


def rendering_findings() -> list[Finding]:
    """Which Blender there is; and, if there is one, the device and seconds of its start and of a scene."""
    try:
        program = blender_program()
    except InputError as error:
        return [Finding(BLENDER, State.FAULT, "none that can be used", str(error))]
    return [Finding(BLENDER, State.OK, _described(program)), _rendering()]


def _described(program: Program) -> str:
    if program.is_own:
        return f"{program.version}, the module bpy of this Python"
    kind = "a Blender executable" if program.is_executable else "a Python with bpy"
    return f"{program.version}, {kind}: {program.path} ({VARIABLE})"


def _rendering() -> Finding:
    scene = ScenePrior(CLEVR, (3, 3)).sample(np.random.default_rng(0))
    started = time.perf_counter()
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
