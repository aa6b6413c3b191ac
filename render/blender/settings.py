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
    """Preset, requested device, path of the base scene, mesh of each shape, threads (0: all cores).

    A process reads the meshes when it starts, which may be long after the renderer was made: it refuses a mesh that has
    another sha256 than then, whose pictures would be stored under the old one's key.
    """

    preset: Preset
    device: str
    base_scene: str
    meshes: tuple[tuple[str, str, str], ...]  # (shape, path of its OBJ, sha256)
    threads: int

    def header(self) -> Header:
        return asdict(self)

    @classmethod
    def from_header(cls, header: Header) -> Settings:
        """The settings that `header` gave; the sender is our own code, so a wrong form is our own bug."""
        make: Callable[..., Preset] = Preset
        preset = make(**mapping(header["preset"], "preset"))
        rows = (listed(row, "meshes") for row in listed(header["meshes"], "meshes"))
        meshes = tuple((str(shape), str(path), str(sha256)) for shape, path, sha256 in rows)
        return cls(
            preset,
            str(header["device"]),
            str(header["base_scene"]),
            meshes,
            whole(header["threads"], "threads"),
        )
