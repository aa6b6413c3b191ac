"""Pictures for readers, rendered after the search: hits again, large, or the nearest misses.

They are stored in the run folder, so that `trex report` needs no renderer. No draw depends on them.
"""

from __future__ import annotations

from pathlib import Path

from trex.api.find import Outcome, conclude_run
from trex.crosscheck.confirm import ConfirmOptions, ConfirmProgress, confirm
from trex.crosscheck.misses import has_misses, keep_misses
from trex.foundation.errors import TrexError
from trex.render.presets import preset_named
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.worlds.world import FAKE

LARGE = "reference"  # looks like CLEVR's own preset in a twentieth of the time
MOST_LARGE = 8  # most confident first; each costs about 5 seconds of CPU time


def add_pictures(done: Outcome, watcher: ConfirmProgress, *, large: bool) -> tuple[Outcome, str]:
    """The run with its pictures and a renewed report, and why some could not be rendered, "" if all could.

    Existing pictures are not rendered again, so after a kill the same call resumes.
    """
    try:
        is_new = _add(done, watcher, large)
    except TrexError as error:
        return done, f"no more pictures for the page: {error}"
    if not is_new:
        return done, ""
    with open_run(done.folder, for_writing=True) as folder:
        return conclude_run(folder, read_draws(folder.draws)), ""


def add_large(run: Path, manifest: Manifest, top: int, watcher: ConfirmProgress) -> bool:
    """Render the most confident hits of a run at preset LARGE; return whether its world and hits allow that."""
    if not may_be_larger(manifest):
        return False
    confirm([run], ConfirmOptions(LARGE, top, manifest.query.render.device), watcher)
    return True


def enlarge_explained(run: Path, top: int, watcher: ConfirmProgress) -> str:
    """Render the explained scenes of a run large too; return why that failed, "" if it did not or nothing is larger."""
    try:
        with open_run(run, for_writing=False) as folder:
            manifest = folder.manifest
        add_large(run, manifest, top, watcher)
    except TrexError as error:
        return f"no larger pictures for the page: {error}"
    return ""


def may_be_larger(manifest: Manifest) -> bool:
    """Whether a run's scenes can be rendered larger than in its search."""
    is_rendered = world_of(manifest).has_scenes and manifest.query.render.preset != FAKE
    return is_rendered and manifest.facts.size[0] < preset_named(LARGE).width


def _add(done: Outcome, watcher: ConfirmProgress, large: bool) -> bool:
    if done.findings.found:
        return large and add_large(done.folder, done.manifest, MOST_LARGE, watcher)
    with open_run(done.folder, for_writing=True) as folder:
        if has_misses(folder, done.findings.nearest):
            return False
        keep_misses(folder, done.findings.nearest)
    return True
