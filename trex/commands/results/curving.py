"""Makes a run's dose curve and rewrites its report, for `trex curve RUN` and `Run.curve`."""

from __future__ import annotations

from pathlib import Path

from trex.curves.curve import Curve
from trex.curves.measure import curve_of_run
from trex.curves.options import CurveOptions
from trex.finding.conclude import renew_report
from trex.pages.display import Display


def curve_with_report(
    path: Path, options: CurveOptions, display: Display, processes: int | None = None
) -> tuple[Curve, Path]:
    """The curve and the report's path; see `curve_of_run`."""
    made = curve_of_run(path, options, display.show, processes)
    return made, renew_report(path).report
