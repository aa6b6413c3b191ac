"""Section of patterns: what the hits have in common and prior scenes lack."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.patterns import run_patterns
from trex.report.section import ReportContext, Section, template_file

MOST_ROWS = 8  # of each kind


def patterns(context: ReportContext) -> Mapping[str, object] | None:
    """The patterns; None in a world without objects, or without hits."""
    found = run_patterns(context.manifest, context.findings, context.explanations)
    return {"common": found, "most_rows": MOST_ROWS} if found else None


SECTION = Section("patterns", template_file("trex.pages", "templates/commonalities.html"), patterns, 30)
