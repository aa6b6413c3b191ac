"""Section of hits at another preset: one part for each preset used with `trex report --confirm`."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.trials.confirmation import confirmed_section


def confirmed(context: ReportContext) -> Mapping[str, object] | None:
    """The confirmations of the run; None if there are none."""
    starts = context.results.starts
    found = [confirmed_section(context.folder, each, starts) for each in context.confirmations]
    return {"confirmations": found} if found else None


SECTION = Section("confirmations", template_file("trex.pages", "templates/confirmations.html"), confirmed, 40)
