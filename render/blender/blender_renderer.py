"""Renders scenes by Blender, in long-lived processes that are supervised and replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

from trex.blender_assets.load import FOLDER, verify_manifest
from trex.foundation.errors import InputError
from trex.foundation.files import Closing
from trex.render.assets import assets_hash, base_scene, hashed, mesh_paths
from trex.render.blender.pool import Limits, Pool
from trex.render.blender.process import RenderStats
from trex.render.blender.program import blender_program
from trex.render.blender.settings import Settings
from trex.render.blender_child.device import check_device
from trex.render.checks import check_scenes
from trex.render.picture import Picture
from trex.render.presets import Preset, preset_named
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR, Vocabulary

PIXELS_VERSION = 2  # increase whenever a change of this package's code changes pixels
MAX_PROCESSES = 4  # by default: each holds about 400 MB
LARGEST_FARM, MAX_THREADS = 256, 1024  # limits on one renderer's processes, and on the threads of each


class BlenderRenderer(Closing):
    """Renders scenes by Blender in `processes` processes of `threads` threads each, started on first use.

    On a CPU the same scene gives the same bytes whatever was rendered before, in any process, with any number of
    threads. Two pictures of a graphics card differ by a few of 255 gray levels (docs/how-to/gpu.md).
    Raises InputError, before any render, for settings or scenes that cannot be rendered; RenderError if a scene
    fails in `limits.attempts` attempts.
    """

    def __init__(
        self,
        preset: str | Preset = "fast",
        device: str = "auto",
        vocabulary: Vocabulary = CLEVR,
        processes: int = 1,
        *,
        threads: int | None = None,
        timeout_s: float | None = None,
        memory_limit_mb: int = 3072,
        assets: Path = FOLDER,
    ) -> None:
        _check_count("processes", processes, LARGEST_FARM)
        if threads is not None:
            _check_count("threads", threads, MAX_THREADS)
        self.preset = preset_named(preset)
        self.vocabulary = vocabulary
        if assets == FOLDER:
            verify_manifest()
        meshes, scene = hashed(mesh_paths(vocabulary, assets)), base_scene(assets)
        self._assets = assets_hash(meshes, scene)
        each = threads or max(1, usable_cores() // processes)
        self._settings = Settings(self.preset, check_device(device), scene, meshes, each)
        self._limits = Limits(timeout_s or default_timeout_s(self.preset), memory_limit_mb << 20)
        self._program = blender_program()
        self._pool = Pool(self._settings, self._program, self._limits, processes)
        self._lock = threading.Lock()

    @property
    def device(self) -> str:
        """The device in use: the requested one, or the one that `auto` found (which starts Blender)."""
        wanted = self._settings.device
        if wanted != "auto":
            return wanted
        with self._lock:
            return self._pool.device()

    @property
    def device_names(self) -> tuple[str, ...]:
        """What the device is made of: the processor, or each graphics card; starts Blender."""
        with self._lock:
            return self._pool.device_names()

    @property
    def key(self) -> str:
        """Identifies everything that determines the pixels besides the scene."""
        p = self.preset
        finish = f"denoise={p.denoise}" if p.denoise else "sampling=published"
        look = f"{p.width}x{p.height}x{p.samples} {finish} bounces={p.max_bounces}"
        key = (
            f"blender {self._program.key} v{PIXELS_VERSION} {look} assets={self._assets} device={self.device}"
        )
        return f"{key} denoiser={self.device}" if self._denoises_on_card() else key

    def _denoises_on_card(self) -> bool:
        """Whether a graphics card denoises, which gives other bytes than the CPU; a card is asked, no CPU."""
        if self.preset.denoise is None or (device := self.device) == "cpu":
            return False
        with self._lock:
            return self._pool.denoiser() == device

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        return [picture for picture, _ in self.render_timed(zs)]

    def render_timed(self, zs: Sequence[Scene]) -> list[tuple[Picture, RenderStats]]:
        check_scenes(zs, self.vocabulary)
        with self._lock:
            return self._pool.render(zs)

    def blend_file(self, scene: Scene) -> bytes:
        """A scene as a .blend file with this renderer's settings, from which Blender renders the same picture."""
        check_scenes([scene], self.vocabulary)
        with self._lock:
            return self._pool.blend_file(scene)

    def process_ids(self) -> list[int]:
        return self._pool.process_ids()

    def close(self) -> None:
        """End all processes; a later render starts new ones."""
        with self._lock:
            self._pool.close()


def default_processes() -> int:
    """One process per core, which is faster than one thread per core; at most MAX_PROCESSES."""
    return min(MAX_PROCESSES, usable_cores())


def usable_cores() -> int:
    """The number of cores for this process: TREX_CORES if that is set, else the system's answer."""
    if os.environ.get("TREX_CORES", "").isdigit():
        return max(1, int(os.environ["TREX_CORES"]))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_timeout_s(preset: Preset) -> float:
    """Ten times the time of one busy core (1.3 us per sample, measured), plus a minute for everything else."""
    return 60.0 + 1.3e-5 * preset.width * preset.height * preset.samples


def _check_count(what: str, count: int, most: int) -> None:
    if not 1 <= count <= most:
        raise InputError(f"{count} {what} are out of range; give 1 to {most}")
