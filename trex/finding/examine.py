"""What follows a search: its hits traced and explained, and pictures for readers.

Everything is stored in the run folder, so that `trex report` needs neither model nor renderer. No draw depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import NamedTuple

from trex.clevr_models.specs.ours import asks_freely
from trex.explain.explain_run import explain
from trex.explain.options import ExplainOptions
from trex.explain.run_families import describe, is_described
from trex.explain.traces import may_trace, to_trace, trace_hits, trace_others
from trex.finding.conclude import Outcome, conclude_run
from trex.foundation.errors import TrexError
from trex.foundation.progress import Progress
from trex.render.presets import preset_named
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.search.render_speed import LARGE, MAX_LARGE
from trex.search.results import Results
from trex.trials.confirm import confirm_open
from trex.trials.confirmation import read_confirmation
from trex.trials.hits import has_misses, keep_misses, stored_hits
from trex.trials.holds import measure_holds
from trex.trials.options import ConfirmOptions
from trex.worlds.latents import SCENES
from trex.worlds.world import OpenWorld, size_without_blender

LEFT_OUT = ExplainOptions(top=MAX_LARGE, trace=False, edits=False, flip_depth=0, nuisances=0, saliency=False)


class After(NamedTuple):
    """What is done after a search; `progress` shows it, `on_problem` says why a part of it could not be done.

    `explain`: trace the wrong answers of the hits, leave out each object of the most confident ones, and render these
    under other noise and from other viewpoints. `large`: render these again, large, for the page. The nearest misses,
    if there is no hit, are rendered always. `hints` has the words that say how to skip each.
    """

    progress: Progress
    on_problem: Callable[[str], None]
    explain: bool = True
    large: bool = True
    hints: Mapping[str, str] = MappingProxyType({})


def examined(folder: RunFolder, world: OpenWorld, done: Outcome, after: After | None) -> Outcome:
    """The outcome with all of that and a new report; what exists is not made again."""
    if after is None:
        return done
    parts: list[tuple[str, Callable[[], object]]] = []
    if done.results.found:
        if after.explain and may_trace(folder.manifest):
            parts.append(("explain the hits", lambda: _explain(folder, world, done.results, after)))
        if after.explain and _is_rendered(folder.manifest):
            shown = done.results.found[:MAX_LARGE]
            held = with_hint(after.progress, after.hints.get("explain", ""))
            parts.append(
                (
                    "say how far it holds",
                    lambda: measure_holds(folder, shown, held, lambda: nullcontext(world)),
                )
            )
        if after.large:
            large = with_hint(after.progress, after.hints.get("large", ""))
            parts.append(
                ("render more pictures for the page", lambda: render_large(folder, MAX_LARGE, large))
            )
    else:
        parts.append(("render more pictures for the page", lambda: _render_misses(folder, done.results)))
    for what, make in parts:
        try:
            make()
        except TrexError as error:
            after.on_problem(f"could not {what}: {error}")
    return conclude_run(folder, run_draws(folder))


def with_hint(progress: Progress, hint: str) -> Progress:
    """Progress with a hint at the end."""
    return lambda step, done, total, *facts: progress(step, done, total, *facts, *([hint] if hint else []))


def _explain(folder: RunFolder, world: OpenWorld, results: Results, after: After) -> None:
    """Trace all wrong answers, leave the objects of the first hits out, and describe the families."""
    progress = with_hint(after.progress, after.hints.get("explain", ""))

    def trace() -> None:
        if asks_freely(folder.manifest.query.model.name):
            trace_hits(folder, world, to_trace(folder, results.found), progress)
            trace_others(folder, world, results, progress)

    def leave_out() -> None:
        explain(folder, LEFT_OUT, progress, lambda: nullcontext(world))

    for part in (trace, leave_out):  # if the second is stopped, the first is on the page
        part()
        if not is_described(folder, results.found):
            describe(folder, run_draws(folder), progress)


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
    return manifest.world.form is SCENES and size_without_blender(manifest.query.render.preset) is None


def _has_large(folder: RunFolder, top: int) -> bool:
    """Whether these pictures exist: then no renderer needs to start."""
    large = read_confirmation(folder, LARGE)
    found = stored_hits(folder, "to render", top)
    return large is not None and all(large.of(hit.record.picture) for hit in found)


def _render_misses(folder: RunFolder, results: Results) -> None:
    if not has_misses(folder, results.nearest):
        keep_misses(folder, results.nearest)
