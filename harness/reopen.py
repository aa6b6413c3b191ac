"""The world of a run, opened again as it was when its draws were made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.manifest import differences
from harness.run_folder import RunFolder
from harness.wiring import World, close_renderer, make_plan, open_world
from scenes.errors import RunError


@contextmanager
def reopened(folder: RunFolder) -> Iterator[World]:
    """The model, renderer and vocabulary of a run; RunError where one of them is not what it was."""
    manifest = folder.manifest
    world = open_world(make_plan(manifest.query, Path(manifest.folder)))
    try:
        changed = differences(manifest.made, world.made)
        if changed:
            raise RunError(
                f"{folder.path} cannot be gone on with, its scenes would score otherwise: {'; '.join(changed)}; "
                "bring that back, or start a new run"
            )
        yield world
    finally:
        close_renderer(world.renderer)
