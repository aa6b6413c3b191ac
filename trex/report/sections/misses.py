"""Section of nearest misses: for a run without hits, the draws with the most confidence in the target."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.gallery import make_misses, small_card_values
from trex.report.section import ReportContext, Section, template_file


def misses(context: ReportContext) -> Mapping[str, object] | None:
    """The misses as cards; None if there are hits."""
    cards = make_misses(context.folder, context.results.nearest)
    return {"misses": cards, **small_card_values(context.manifest)} if cards else None


SECTION = Section("misses", template_file("trex.pages", "templates/misses.html"), misses, 10)
