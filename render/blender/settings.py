"""The settings that a Blender process receives at its start."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from trex.render.blender.wire import Header
from trex.render.presets import Preset

TEMPORARY = "trex-blender-"  # prefix of a Blender process's temporary folder


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
        """The settings in a `header`; the sender is our own code, so any other form is a bug."""
        preset = Preset(**cast(dict[str, object], header["preset"]))  # type: ignore[arg-type]
        meshes = tuple((shape, path) for shape, path in cast(list[tuple[str, str]], header["meshes"]))
        return cls(
            preset, str(header["device"]), str(header["base_scene"]), meshes, cast(int, header["threads"])
        )
