"""Section of fragile hits: those that left the level set under fresh noise draws, and do not count as found."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.context import ReportContext
from trex.report.section import Section, template_file

MOST = 12  # most confident first


def fragile(context: ReportContext) -> Mapping[str, object] | None:
    """The fragile hits; None if there are none."""
    results = context.results
    if not results.fragile:
        return None
    return {
        "fragile": results.fragile[:MOST],
        "count": len(results.fragile),
        "hits": len(results.fragile) + len(results.found),
        "draws": context.manifest.query.render.fresh,
        "run": context,
    }


SECTION = Section("fragile", template_file("trex.pages", "templates/fragile.html"), fragile, 15)
