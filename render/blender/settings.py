"""The settings that a Blender process receives at its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from trex.foundation.json_fields import listed, mapping, whole
from trex.render.blender.wire import Header
from trex.render.presets import Preset

TEMPORARY = "trex-blender-"  # prefix of a Blender process's temporary folder

BLEND = "blend"  # the form of an answer that is a .blend file instead of a picture


@dataclass(frozen=True, slots=True)
class Settings:
    """Preset, requested device, path of the base scene, mesh of each shape, threads (0: all cores)."""

    preset: Preset
    device: str
    base_scene: str
    meshes: tuple[tuple[str, str], ...]  # (shape, path of its OBJ)
    threads: int

    def header(self) -> Header:
        """The settings as they are sent."""
        return asdict(self)

    @classmethod
    def from_header(cls, header: Header) -> Settings:
        """The settings that `header` gave; the sender is our own code, so a wrong form is our own bug."""
        make: Callable[..., Preset] = Preset
        preset = make(**mapping(header["preset"], "preset"))
        pairs = (listed(pair, "meshes") for pair in listed(header["meshes"], "meshes"))
        meshes = tuple((str(shape), str(path)) for shape, path in pairs)
        return cls(
            preset,
            str(header["device"]),
            str(header["base_scene"]),
            meshes,
            whole(header["threads"], "threads"),
        )
