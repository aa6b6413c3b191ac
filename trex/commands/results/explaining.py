"""Explains a run and rewrites its report, for `trex explain RUN` and `Run.explain`."""

from __future__ import annotations

from pathlib import Path

from trex.explain.changes import ChangedHit, explain_changes
from trex.explain.explain_run import ExplainedHits, explain
from trex.explain.options import ExplainOptions
from trex.explain.run_families import describe
from trex.finding.conclude import conclude_run
from trex.finding.examine import render_large, with_hint
from trex.foundation.errors import TrexError
from trex.pages.display import Display
from trex.runs.draw_log import run_draws
from trex.runs.folder import is_of_own_world, open_run
from trex.runs.open_world import open_world


def explain_with_report(
    path: Path, options: ExplainOptions, display: Display, processes: int | None, *, large: bool, hint: str = ""
) -> tuple[ExplainedHits, Path]:  # fmt: skip
    """The explained scenes and the report's path; `large` renders them again for it, `hint` says how to skip that.

    Raises RunError if the run has no hits, or if its model or renderer has changed.
    """
    done = explain(path, options, display.show, processes)
    with open_run(path, for_writing=True) as folder:
        describe(folder, run_draws(folder), display.show)
        if large:
            try:
                render_large(folder, options.top, with_hint(display.show, hint))
            except TrexError as error:
                display.say(f"could not render large pictures for the page: {error}")
        return done, conclude_run(folder, run_draws(folder)).report


def changes_with_report(
    path: Path, options: ExplainOptions, display: Display, processes: int | None
) -> tuple[tuple[ChangedHit, ...], Path] | None:
    """What changes explain the hits of a run in a world of the user's own, and its report; None in any other world.

    InputError for an option but `top`, RunError if there are no hits, or if the world has no edits or has changed.
    """
    with open_run(path, for_writing=True) as folder:
        if not is_of_own_world(folder.manifest):
            return None
        options.refuse(
            [name for name in ExplainOptions.model_fields if name != "top"], "it needs objects; drop it"
        )
        done = explain_changes(folder, options.top, lambda: open_world(folder, processes), display.show)
        return done, conclude_run(folder, run_draws(folder)).report
