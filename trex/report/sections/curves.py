"""Section of the dose curves that `trex curve` has made: a figure for each, and its table."""

from __future__ import annotations

from collections.abc import Mapping

from trex.curves.curve import Curve
from trex.curves.shown import dose_table, figure, scene_table
from trex.curves.stored import read_curves
from trex.report.context import ReportContext
from trex.report.section import Section, template_file


def curves(context: ReportContext) -> Mapping[str, object] | None:
    """The curves of the run; None if there are none."""
    found = read_curves(context.folder)
    return {"curves": [_view(curve) for curve in found]} if found else None


def _view(curve: Curve) -> dict[str, object]:
    return {
        "headline": curve.headline,
        "evidence": curve.details[0],
        "caveats": curve.details[1:],
        "svg": figure(curve),
        "has_threshold": curve.threshold.is_crossed,
        "name": curve.name,
        "doses": dose_table(curve),
        "scenes": scene_table(curve),
    }


SECTION = Section("curves", template_file("trex.pages", "templates/curves.html"), curves, 12)
