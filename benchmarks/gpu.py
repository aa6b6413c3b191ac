"""Pictures a second on a graphics card: every look, by CUDA and OptiX, from 1, 4 and 8 Blender processes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from benchmarks.figure import note, show
from benchmarks.rendering import prior_scenes
from trex.foundation.errors import InputError
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.worlds.looks import LADDER

DEVICES = ("optix", "cuda")
LOOKS = (*LADDER[1:], "reference", "clevr")  # what Blender renders
PROCESSES = (1, 4, 8)
LEAST_S = 2.0  # a look is timed for at least so long
COMPARED = 8  # scenes whose pictures are compared with the CPU's


def gpu() -> None:
    """Every device that Cycles finds here, and how much its pictures differ from the CPU's; nothing without one."""
    found = [device for device in DEVICES if _is_there(device)]
    if not found:
        note(f"gpu: Cycles finds neither {' nor '.join(DEVICES)} on this machine; nothing is measured")
    for device in found:
        for look in ("fast", "reference"):
            repeats(device, look)
        for look in LOOKS:
            per_second(device, look)
            if look != "clevr":  # minutes on a CPU
                difference(device, look)


def repeats(device: str, look: str) -> None:
    """The share of scenes that have the same bytes in another process, and by how much the others differ."""
    scenes, pictures = prior_scenes(COMPARED), []
    for _ in range(2):
        with BlenderRenderer(look, device, processes=1) as renderer:
            pictures.append(np.array([picture.pixels.astype(int) for picture in renderer.render(scenes)]))
    apart = np.abs(pictures[0] - pictures[1])
    same = float((apart.max(axis=(1, 2, 3)) == 0).mean())
    show(f"gpu.{device}.repeats.{look}", same, "of pictures, the same bytes in another process")
    show(f"gpu.{device}.apart.{look}", float(apart.mean()), "of 255, from another process's pictures")
    show(f"gpu.{device}.apart_most.{look}", int(apart.max()), "of 255, the most of any channel")


def per_second(device: str, look: str) -> None:
    """Pictures a second on processes that have rendered before, with one thread each."""
    scenes = prior_scenes(64)
    with ExitStack() as stack:
        renderers = [
            stack.enter_context(BlenderRenderer(look, device, processes=processes, threads=1))
            for processes in PROCESSES
        ]
        with ThreadPoolExecutor(len(PROCESSES)) as threads:  # all start and compile at once
            list(threads.map(lambda item: item.render(scenes[:16]), renderers))
        for processes, renderer in zip(PROCESSES, renderers, strict=True):
            done, begin = 0, time.monotonic()
            while time.monotonic() - begin < LEAST_S:
                done += len(renderer.render(scenes[: 8 * processes]))
            seconds = time.monotonic() - begin
            show(f"gpu.{device}.per_s.{look}.{processes}", done / seconds, "pictures/s")


def difference(device: str, look: str) -> None:
    """The mean difference of a channel from the CPU's picture, of 255; and the share of other mask pixels."""
    scenes = prior_scenes(COMPARED)
    with BlenderRenderer(look, device) as renderer, BlenderRenderer(look, "cpu") as other:
        pairs = list(zip(renderer.render(scenes), other.render(scenes), strict=True))
    pixels = [np.abs(a.pixels.astype(int) - b.pixels).mean() for a, b in pairs]
    show(f"gpu.{device}.difference.{look}", float(np.mean(pixels)), "of 255, from the CPU's pictures")
    show(
        f"gpu.{device}.mask.{look}",
        float(np.mean([(a.mask != b.mask).mean() for a, b in pairs])),
        "of pixels",
    )


def _is_there(device: str) -> bool:
    try:
        with BlenderRenderer("draft", device) as renderer:
            return bool(renderer.device_names)
    except InputError:
        return False
