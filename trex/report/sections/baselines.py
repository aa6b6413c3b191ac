"""Section "without a search": the same query counted on a data set or on rendered scenes of the prior."""

from __future__ import annotations

from collections.abc import Mapping

from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.trials.baseline.beside import stored_baselines
from trex.trials.baseline.page import sentences


def baselines(context: ReportContext) -> Mapping[str, object] | None:
    """The baselines stored with the run; None if there are none."""
    kept = stored_baselines(context.folder)
    return {"baselines": kept, "baseline_sentences": sentences} if kept else None


SECTION = Section("baselines", template_file("trex.pages", "templates/baselines.html"), baselines, 50)
