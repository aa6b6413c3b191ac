"""Section of patterns: what the hits have in common and prior scenes lack."""

from __future__ import annotations

from collections.abc import Mapping

from trex.foundation.percent import percent, percent_interval
from trex.pages.table import Column, Table, with_note
from trex.report.patterns import Pattern, Patterns, run_patterns
from trex.report.section import ReportContext, Section, template_file

MAX_ROWS = 8  # of each kind


def patterns(context: ReportContext) -> Mapping[str, object] | None:
    """The patterns; None in a world without objects, or without hits."""
    found = run_patterns(context.manifest, context.results, context.explanations)
    return {"common": found, "tables": pattern_tables(found)} if found else None


def pattern_tables(found: Patterns) -> list[Table[Pattern]]:
    """The clear patterns of each kind."""
    return [
        Table("The object to blame", _columns("is to blame in"), found.clear("to blame", MAX_ROWS)),
        Table("In the scene", _columns("is in"), found.clear("present", MAX_ROWS)),
    ]


def _columns(here: str) -> tuple[Column[Pattern], ...]:
    return (
        Column("object", lambda row: row.words),
        Column(here, lambda row: with_note(percent(row.share), f"of {row.n}"), is_number=True),
        Column("95 %", lambda row: percent_interval(*row.interval), is_number=True),
        Column("prior", lambda row: percent(row.prior_share), is_number=True),
        Column("95 %", lambda row: percent_interval(*row.prior_interval), is_number=True),
        Column("lift", lambda row: f"{row.lift:.1f}" if row.prior_share else "–", is_number=True),
        Column("p", lambda row: f"{row.p_value:.1g}", is_number=True),
    )


SECTION = Section("patterns", template_file("trex.pages", "templates/commonalities.html"), patterns, 30)
