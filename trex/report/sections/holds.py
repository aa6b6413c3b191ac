"""Section that says how far the finding holds: with new render noise, at reference quality, from other viewpoints."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.search.render_speed import MAX_LARGE


def holds(context: ReportContext) -> Mapping[str, object] | None:
    """The sentences on the scenes that the page shows; None if nothing was measured."""
    shown = context.results.found[:MAX_LARGE]
    return {"holds": context.holds, "scenes": len(shown)} if context.holds.sentence() else None


SECTION = Section("holds", template_file("trex.pages", "templates/holds.html"), holds, 10)
