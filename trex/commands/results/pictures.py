"""Scenes rendered in Python: `trex.render` gives pictures, where `trex render scenes` writes files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from trex.foundation.files import path_of
from trex.pages.display import display_if
from trex.query.schema import RenderSection
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.world import open_renderer

if TYPE_CHECKING:
    from trex.render.picture import Picture

AT_ONCE = 8  # pictures between two updates of the progress


def render(
    scenes: Scene | Sequence[Scene] | str | PathLike[str],
    *,
    preset: str = "fast",
    device: str = "auto",
    processes: int | None = None,
    progress: bool = True,
) -> tuple[Picture, ...]:
    """The picture of each scene: `pixels` (H, W, 3), bytes, and `mask` (H, W), 0 background, i + 1 object i.

    Parameters
    ----------
    scenes : Scene, sequence of Scene, or path
        Scenes such as `hit.scene`, draws of `trex.ScenePrior`, or a CLEVR scenes file.
    preset : str, default "fast"
        The quality: docs/reference/presets.md. "fake" needs no Blender.
    device : str, default "auto"
        auto, cpu, cuda, optix, hip, oneapi or metal, for Blender. Example: device="cuda".
    processes : int, default one per core, up to 4
        Blender processes. Example: processes=2.
    progress : bool, default True
        Show the progress.

    Examples
    --------
    >>> import numpy as np, trex
    >>> scene = trex.ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(0))
    >>> trex.render(scene, preset="fake")[0].pixels.shape
    (80, 120, 3)
    """
    from trex.datasets.render_files import everything

    vocabulary = everything()
    wanted = _scenes(scenes, vocabulary)
    renderer = open_renderer(RenderSection(preset=preset, device=device), vocabulary, processes)
    done: list[Picture] = []
    try:
        with display_if(progress) as display:
            for begin in range(0, len(wanted), AT_ONCE):
                done += renderer.render(wanted[begin : begin + AT_ONCE])
                display.show("scenes rendered", len(done), len(wanted))
    finally:
        renderer.close()
    return tuple(done)


def _scenes(
    scenes: Scene | Sequence[Scene] | str | PathLike[str], vocabulary: Vocabulary
) -> tuple[Scene, ...]:
    if isinstance(scenes, Scene):
        return (scenes,)
    if isinstance(scenes, str | PathLike):
        from trex.datasets.render_files import read_any

        return tuple(read_any(path_of(scenes, "a scenes file"), vocabulary)[1])
    return tuple(scenes)
