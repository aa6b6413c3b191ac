"""Explains a run and rewrites its report, for `trex explain RUN` and `Run.explain`."""

from __future__ import annotations

from pathlib import Path

from trex.api.find import renew_report
from trex.api.page_pictures import enlarge_explained
from trex.api.watchers import ExplainProgress, LargeProgress
from trex.explain.explain_run import Explained, explain
from trex.explain.explain_scene import ExplainOptions
from trex.pages.display import Display


def explain_with_report(
    path: Path, options: ExplainOptions, display: Display, processes: int | None, *, large: bool, hint: str = ""
) -> tuple[Explained, Path]:  # fmt: skip
    """The explained scenes and the report's path; `large` renders them again for it, `hint` says how to skip that.

    Raises RunError if the run has no hits, or if its model or renderer has changed.
    """
    done = explain(path, options, ExplainProgress(display), processes)
    problem = enlarge_explained(path, options.top, LargeProgress(display, hint)) if large else ""
    if problem:
        display.say(problem)
    return done, renew_report(path).report
