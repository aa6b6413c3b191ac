"""Explains a run and rewrites its report, for `trex explain RUN` and `Run.explain`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from trex.explain.changes import ChangedHit, explain_changes
from trex.explain.explain_run import ExplainedHits, explain
from trex.explain.options import ExplainOptions
from trex.explain.run_families import describe
from trex.explain.traces import read_traces
from trex.finding.conclude import conclude_run
from trex.finding.examine import render_large, with_hint
from trex.foundation.errors import TrexError
from trex.pages.display import Display
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, is_of_own_world, open_run
from trex.runs.open_world import open_world
from trex.worlds.world import OpenWorld


def explain_with_report(
    path: Path, options: ExplainOptions, display: Display, processes: int | None, *, large: bool, hint: str = ""
) -> tuple[ExplainedHits | tuple[ChangedHit, ...], Path]:  # fmt: skip
    """The explained hits and the report's path; in a world of the user's own, what changes explain them.

    `large` renders the scenes again for the page, `hint` says how to skip that. Raises RunError if the run has no hits,
    or neither scenes nor edits, or if its model or renderer has changed.
    """
    with open_run(path, for_writing=True) as folder:

        def opened() -> AbstractContextManager[OpenWorld]:
            return open_world(folder, processes)

        done: ExplainedHits | tuple[ChangedHit, ...]
        if is_of_own_world(folder.manifest):
            others = [name for name in ExplainOptions.model_fields if name != "top"]
            options.refuse(others, "it needs objects; drop it")
            done = explain_changes(folder, options.top, opened, display.show)
        else:
            done = explain(folder, options, display.show, opened)
            describe(folder, run_draws(folder), display.show)
            done = replace(done, traces=read_traces(folder))
            if large:
                _render_large(folder, options, display, hint)
        outcome = conclude_run(folder, run_draws(folder))
        if isinstance(done, ExplainedHits):
            done = replace(done, starts=outcome.results.starts)
        return done, outcome.report


def _render_large(folder: RunFolder, options: ExplainOptions, display: Display, hint: str) -> None:
    try:
        render_large(folder, options.top, with_hint(display.show, hint))
    except TrexError as error:
        display.say(f"could not render large pictures for the page: {error}")
