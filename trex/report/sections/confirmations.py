"""Section of hits at another preset: one part for each preset used with `trex confirm`."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.section import ReportContext, Section, template_file


def confirmed(context: ReportContext) -> Mapping[str, object] | None:
    """The confirmations of the run; None if there are none."""
    return {"confirmations": context.confirmations} if context.confirmations else None


SECTION = Section("confirmations", template_file("trex.pages", "templates/confirmations.html"), confirmed, 40)
