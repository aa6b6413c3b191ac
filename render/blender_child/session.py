"""One Blender process's work: selects a device, builds the stage, renders scenes to bytes."""

from __future__ import annotations

import time

import bpy
import numpy as np
from numpy.typing import NDArray

from trex.render.blender.settings import BLEND, Settings
from trex.render.blender.wire import Header
from trex.render.blender_child.device import GPU_ORDER, choose_device
from trex.render.blender_child.stage import Stage
from trex.render.picture import Bytes
from trex.scenes.scene import scene_from_dict

CPU_TYPE = "CPU"


class Session:
    def __init__(self, header: Header) -> None:
        settings = Settings.from_header(header)
        there = devices_there()
        self.device = choose_device(settings.device, there)
        self.device_names = there[self.device]
        self.stage = Stage(settings)
        take_device(self.stage.scene, self.device)
        self.denoiser = take_denoiser(self.stage.scene, self.device)

    def greeting(self) -> Header:
        return {
            "ready": bpy.app.version_string,
            "device": self.device,
            "device_names": self.device_names,
            "denoiser": self.denoiser,
        }

    def answer(self, request: Header) -> tuple[Header, tuple[bytes, ...]]:
        """One scene's pixels and mask, and the CPU seconds that all threads spent on them; or its .blend file."""
        if request.get("form") == BLEND:
            return {"request": request["request"]}, (
                self.stage.blend_file(scene_from_dict(request["scene"])),
            )
        start = time.process_time()
        linear, index = self.stage.render(scene_from_dict(request["scene"]))
        pixels = to_srgb(linear[..., :3])
        mask = np.rint(index).astype(np.uint8)
        header: Header = {"request": request["request"], "size": list(mask.shape)}
        header["cpu_s"] = time.process_time() - start
        return header, (pixels.tobytes(), mask.tobytes())


def devices_there() -> dict[str, list[str]]:
    """The names of the devices of each kind that Cycles finds on this machine, "cpu" always among them."""
    preferences = bpy.context.preferences.addons["cycles"].preferences
    there = {"cpu": ["CPU"]}
    for kind in GPU_ORDER:
        try:
            preferences.compute_device_type = kind.upper()
        except TypeError:  # this build of Blender lacks the kind
            continue
        preferences.refresh_devices()
        found = [device for device in preferences.devices if device.type == kind.upper()]
        there[kind] = [device.name for device in found]
        there["cpu"] = [device.name for device in preferences.devices if device.type == CPU_TYPE][:1] or [
            "CPU"
        ]
    preferences.compute_device_type = "NONE"
    return there


def take_device(scene: bpy.types.Scene, kind: str) -> None:
    """Make Cycles render on all devices of this kind and no other."""
    preferences = bpy.context.preferences.addons["cycles"].preferences
    if kind == "cpu":
        preferences.compute_device_type = "NONE"
        scene.cycles.device = "CPU"
        return
    preferences.compute_device_type = kind.upper()
    preferences.refresh_devices()
    for device in preferences.devices:
        device.use = device.type == kind.upper()
    scene.cycles.device = "GPU"


def take_denoiser(scene: bpy.types.Scene, kind: str) -> str:
    """Denoise on the card that renders if it can, else on the CPU; returns the device that does it, or "".

    Asked for a card that cannot, Cycles takes the CPU and says nothing, and the two give other bytes: so it is asked
    for only where OpenImageDenoise supports a card that Cycles uses, and a renderer's key names what was taken.
    """
    if not scene.cycles.use_denoising:
        return ""
    preferences = bpy.context.preferences.addons["cycles"].preferences
    is_on_card = kind != "cpu" and bool(preferences.has_oidn_gpu_devices())
    scene.cycles.denoising_use_gpu = is_on_card
    return kind if is_on_card else "cpu"


def to_srgb(linear: NDArray[np.float32]) -> Bytes:
    """Linear light, any shape, to sRGB bytes (IEC 61966-2-1), clipped and rounded.

    Raises ValueError for NaN: such a picture is invalid.
    """
    if np.isnan(linear).any():
        raise ValueError("the renderer produced pixels that are not numbers")
    light = np.clip(linear, 0.0, 1.0)
    curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** np.float32(1 / 2.4) - 0.055)
    return (curve * 255.0 + 0.5).astype(np.uint8)
