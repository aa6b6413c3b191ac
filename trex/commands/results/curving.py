"""Makes a run's dose curve and rewrites its report, for `trex curve RUN` and `Run.curve`."""

from __future__ import annotations

from pathlib import Path

from trex.curves.curve import Curve
from trex.curves.measure import curve_of_run
from trex.curves.options import CurveOptions
from trex.curves.values import value_curve
from trex.finding.conclude import conclude_run
from trex.pages.display import Display
from trex.runs.draw_log import run_draws
from trex.runs.folder import is_of_own_world, open_run
from trex.runs.open_world import open_world


def curve_with_report(
    path: Path, options: CurveOptions, display: Display, processes: int | None = None
) -> tuple[Curve, Path]:
    """The curve and the report's path; see `curve_of_run`, and `value_curve` for worlds of the user's own."""
    with open_run(path, for_writing=True) as folder:
        if is_of_own_world(folder.manifest):
            made = value_curve(folder, options, lambda: open_world(folder, processes), display.show)
        else:
            made = curve_of_run(folder, options, display.show, processes)
        return made, conclude_run(folder, run_draws(folder)).report
