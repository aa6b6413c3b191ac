"""Section of nearest misses: for a run without hits, the draws with the most confidence in the target."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.gallery import SMALL_PX, TOP_ANSWERS, make_misses, target_answers
from trex.report.section import ReportContext, Section, template_file


def misses(context: ReportContext) -> Mapping[str, object] | None:
    """The misses as cards; None if there are hits."""
    cards = make_misses(context.folder, context.findings.nearest)
    if not cards:
        return None
    return {
        "misses": cards,
        "noun": context.noun,
        "manifest": context.manifest,
        "small_px": SMALL_PX,
        "top_answers": TOP_ANSWERS,
        "target_answers": target_answers(context.manifest),
    }


SECTION = Section("misses", template_file("trex.pages", "templates/misses.html"), misses, 10)
