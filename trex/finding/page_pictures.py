"""Pictures for readers, rendered after the search: hits again, large, or the nearest misses.

They are stored in the run folder, so that `trex report` needs no renderer. No draw depends on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trex.finding.conclude import Outcome, conclude_run
from trex.foundation.errors import TrexError
from trex.foundation.progress import Progress
from trex.render.presets import preset_named
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.search.render_speed import LARGE, MAX_LARGE
from trex.trials.confirm import confirm_open
from trex.trials.confirmation import read_confirmation
from trex.trials.hits import has_misses, keep_misses, stored_hits
from trex.trials.holds import STEP as HOLDS
from trex.trials.holds import measure_holds
from trex.trials.options import ConfirmOptions
from trex.worlds.latents import SCENES
from trex.worlds.world import FAKE

NO_LARGE = "--no-large skips this"  # the command line's hint


def large_progress(progress: Progress, hint: str = "") -> Progress:
    """Shows how many scenes are rendered large, and the `hint` to skip this."""
    return lambda step, done, total, *facts: progress(
        step if step == HOLDS else "large pictures for the page", done, total, hint
    )


class PagePictures(NamedTuple):
    """What a run's page gets after the search; `progress` shows it, `on_problem` says why it could not be rendered.

    `large`: the most confident hits again. The nearest misses, if there is no hit, it always gets.
    """

    progress: Progress
    on_problem: Callable[[str], None]
    large: bool


def with_pictures(folder: RunFolder, done: Outcome, pictures: PagePictures | None) -> Outcome:
    """The run with these pictures and a new report; existing pictures are not rendered again."""
    if pictures is None:
        return done
    try:
        is_new = _render_missing(folder, done, pictures)
    except TrexError as error:
        pictures.on_problem(f"could not render more pictures for the page: {error}")
        return done
    return conclude_run(folder, run_draws(folder)) if is_new else done


def render_large(folder: RunFolder, top: int, progress: Progress) -> bool:
    """Render the `top` most confident hits of a run at preset LARGE; False if nothing is missing or can be larger."""
    if not may_be_larger(folder.manifest) or _has_large(folder, top):
        return False
    options = ConfirmOptions(preset=LARGE, top=top, device=folder.manifest.query.render.device)
    confirm_open([folder], options, progress)
    return True


def may_be_larger(manifest: Manifest) -> bool:
    """Whether a run's scenes can be rendered larger than in its search."""
    return _is_rendered(manifest) and manifest.facts.size[0] < preset_named(LARGE).width


def _is_rendered(manifest: Manifest) -> bool:
    """Whether Blender renders a run's scenes."""
    return manifest.world.form is SCENES and manifest.query.render.preset != FAKE


def _has_large(folder: RunFolder, top: int) -> bool:
    """Whether these pictures exist: then no renderer needs to start."""
    large = read_confirmation(folder, LARGE)
    found = stored_hits(folder, "to render", top)
    return large is not None and all(large.of(hit.record.picture) for hit in found)


def _render_missing(folder: RunFolder, done: Outcome, pictures: PagePictures) -> bool:
    if done.results.found:
        is_new = pictures.large and render_large(folder, MAX_LARGE, pictures.progress)
        shown = done.results.found[:MAX_LARGE] if pictures.large and _is_rendered(folder.manifest) else ()
        return measure_holds(folder, shown, pictures.progress) or is_new
    if has_misses(folder, done.results.nearest):
        return False
    keep_misses(folder, done.results.nearest)
    return True
