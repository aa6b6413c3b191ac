"""Section of nearest misses: for a run without hits, the draws with the most confidence in the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.trials.hits import read_misses


def misses(context: ReportContext) -> Mapping[str, object] | None:
    """The misses, with the pictures that were stored at the end of the search; None if there are hits."""
    stored = read_misses(context.folder)
    nearest = [
        replace(hit, record=replace(hit.record, picture=hit.record.picture or stored.get(hit.record.key, "")))
        for hit in context.results.nearest
    ]
    return {"misses": nearest, "run": context} if nearest else None


SECTION = Section("misses", template_file("trex.pages", "templates/misses.html"), misses, 10)
