"""Section of nearest misses: for a run without hits, the draws with the most confidence in the target."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.context import ReportContext
from trex.report.gallery import make_misses
from trex.report.section import Section, template_file


def misses(context: ReportContext) -> Mapping[str, object] | None:
    """The misses as cards; None if there are hits."""
    cards = make_misses(context.folder, context.results.nearest)
    return {"misses": cards, "run": context} if cards else None


SECTION = Section("misses", template_file("trex.pages", "templates/misses.html"), misses, 10)
