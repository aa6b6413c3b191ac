"""What a Blender process is told once, at its start."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from trex.render.blender.wire import Header
from trex.render.presets import Preset

TEMPORARY = "trex-blender-"  # a Blender process's own temporary folder is named so


@dataclass(frozen=True, slots=True)
class Settings:
    """Preset, device as asked for, the base scene's path, the mesh of each shape, threads (0: all cores)."""

    preset: Preset
    device: str
    base_scene: str
    meshes: tuple[tuple[str, str], ...]  # (shape, path of its OBJ)
    threads: int

    def header(self) -> Header:
        """The form in which the settings travel."""
        return asdict(self)

    @classmethod
    def from_header(cls, header: Header) -> Settings:
        """The settings that `header` gave; the sender is our own code, so a wrong form is our own bug."""
        preset = Preset(**cast(dict[str, object], header["preset"]))  # type: ignore[arg-type]
        meshes = tuple((shape, path) for shape, path in cast(list[tuple[str, str]], header["meshes"]))
        return cls(
            preset, str(header["device"]), str(header["base_scene"]), meshes, cast(int, header["threads"])
        )
