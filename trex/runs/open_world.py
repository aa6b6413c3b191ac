"""Opens the world of a run again, as it was when its draws were made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trex.foundation.errors import RunError
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest, differences
from trex.runs.own_code import own_codes
from trex.runs.trust import check_made_here
from trex.worlds.code import load_code
from trex.worlds.registry import make_plan
from trex.worlds.world import OpenWorld, Plan


@contextmanager
def open_world(folder: RunFolder, processes: int | None = None) -> Iterator[OpenWorld]:
    """The model, renderer and vocabulary of a run; RunError if any of them has changed.

    From then on, the folder's draws are read by this world. `processes` replaces the run's own number of render
    processes: no picture depends on it.
    """
    manifest = folder.manifest
    check_made_here(folder.path, manifest.query)
    load_code(manifest.query)
    plan = make_plan(manifest.query, Path(manifest.folder))
    folder.manifest = manifest.read_by(plan.world)
    world = replace(plan, processes=processes).open()
    try:
        changed = (*differences(manifest.made, world.made), *_other_codes(manifest, plan))
        if changed:
            raise RunError(
                f"cannot resume {folder.path}, its draws would now get other scores: {'; '.join(changed)}; "
                "restore the earlier state, or start a new run"
            )
        yield world
    finally:
        world.close()


def _other_codes(manifest: Manifest, plan: Plan) -> tuple[str, ...]:
    """Parts of the user's own whose code is another than when the draws were made, in words."""
    before = manifest.versions
    return tuple(
        f"the code of {name} has changed"
        for name, now in own_codes(plan).items()
        if before.get(name, now) != now
    )
