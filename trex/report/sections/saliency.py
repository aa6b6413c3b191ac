"""Section on trust in saliency: each method compared with leave-one-out, over all explained scenes."""

from __future__ import annotations

from collections.abc import Mapping

from trex.explain.saliency_agreement import agreements
from trex.report.context import ReportContext
from trex.report.section import Section, template_file


def saliency(context: ReportContext) -> Mapping[str, object] | None:
    """The agreement of each method; None if no explained scene has a saliency map."""
    found = agreements(list(context.explanations.values()), context.results.starts)
    return {"agreements": found} if found else None


SECTION = Section("saliency", template_file("trex.pages", "templates/saliency.html"), saliency, 20)
