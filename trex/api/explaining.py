"""The explanations of a run, and its report with them: what `trex explain RUN` and `Run.explain` do."""

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
    """The explained scenes and the path of the report; `large` renders them once more for it, `hint` says how not to.

    RunError if the run has found nothing, or is not what is here now.
    """
    done = explain(path, options, ExplainProgress(display), processes)
    why_not = enlarge_explained(path, options.top, LargeProgress(display, hint)) if large else ""
    if why_not:
        display.say(why_not)
    return done, renew_report(path).report
