"""Pictures for readers, rendered after the search: hits again, large, or the nearest misses.

They are stored in the run folder, so that `trex report` needs no renderer. No draw depends on them.
"""

from __future__ import annotations

from pathlib import Path

from trex.api.find import Outcome, conclude_run
from trex.foundation.errors import TrexError
from trex.render.presets import PRESETS, preset_named
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.trials.confirm import ConfirmOptions, ConfirmProgress, confirm
from trex.trials.confirmation import read_confirmation
from trex.trials.hits import has_misses, keep_misses, stored_hits
from trex.worlds.world import FAKE, Plan

LARGE = "reference"  # looks like CLEVR's own preset in a twenty-fifth of the time
MAX_LARGE = 8  # most confident first; each costs about 5 seconds of CPU time


def add_pictures(done: Outcome, watcher: ConfirmProgress, *, large: bool) -> tuple[Outcome, str]:
    """The run with these pictures and a new report; also why pictures could not be rendered, "" if all could.

    Existing pictures are not rendered again, so after a kill the same call resumes.
    """
    try:
        is_new = _render_missing(done, watcher, large)
    except TrexError as error:
        return done, f"could not render more pictures for the page: {error}"
    if not is_new:
        return done, ""
    with open_run(done.folder, for_writing=True) as folder:
        return conclude_run(folder, run_draws(folder)), ""


def render_large(run: Path, manifest: Manifest, top: int, watcher: ConfirmProgress) -> bool:
    """Render the `top` most confident hits of a run at preset LARGE; False if nothing is missing or can be larger."""
    if not may_be_larger(manifest) or _has_large(run, top):
        return False
    confirm([run], ConfirmOptions(LARGE, top, manifest.query.render.device), watcher)
    return True


def enlarge_explained(run: Path, top: int, watcher: ConfirmProgress) -> str:
    """Render the explained scenes of a run large too; return why that failed, or "" if it did not."""
    try:
        with open_run(run, for_writing=False) as folder:
            manifest = folder.manifest
        render_large(run, manifest, top, watcher)
    except TrexError as error:
        return f"could not render large pictures for the page: {error}"
    return ""


def may_be_larger(manifest: Manifest) -> bool:
    """Whether a run's scenes can be rendered larger than in its search."""
    is_rendered = world_of(manifest).has_scenes and manifest.query.render.preset != FAKE
    return is_rendered and manifest.facts.size[0] < preset_named(LARGE).width


def most_large(plan: Plan) -> int:
    """The most large pictures that a search of this plan renders for its page, unless it is told not to."""
    preset = plan.query.render.preset
    is_rendered = plan.world.has_scenes and preset in PRESETS
    return MAX_LARGE if is_rendered and preset_named(preset).width < preset_named(LARGE).width else 0


def _has_large(run: Path, top: int) -> bool:
    """Whether these pictures exist: then no renderer needs to start."""
    with open_run(run, for_writing=False) as folder:
        large = read_confirmation(folder, LARGE)
        found = stored_hits(folder, "to render", top)
    return large is not None and all(large.of(hit.record.picture) for hit in found)


def _render_missing(done: Outcome, watcher: ConfirmProgress, large: bool) -> bool:
    if done.results.found:
        return large and render_large(done.folder, done.manifest, MAX_LARGE, watcher)
    with open_run(done.folder, for_writing=True) as folder:
        if has_misses(folder, done.results.nearest):
            return False
        keep_misses(folder, done.results.nearest)
    return True
