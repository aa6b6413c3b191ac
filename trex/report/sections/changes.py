"""Section of what explains the hits of a world of the user's own: each change of a value, and the answer to it."""

from __future__ import annotations

from collections.abc import Mapping

from trex.explain.changes import read_changes
from trex.report.context import ReportContext
from trex.report.section import Section, template_file


def changes(context: ReportContext) -> Mapping[str, object] | None:
    """The explained hits of the run; None if there are none."""
    found = read_changes(context.folder, context.results.found)
    if not found:
        return None
    return {
        "hits": [
            {"sentences": each.sentences, "table": each.table.html(f"Changes of {each.hit.origin}")}
            for each in found
        ]
    }


SECTION = Section("changes", template_file("trex.pages", "templates/changes.html"), changes, 11)
