"""Section of patterns: what the hits have in common and prior scenes lack."""

from __future__ import annotations

from collections.abc import Mapping

from trex.explain.explanation import Explanation
from trex.families.enrichment import Enriched, Enrichment, Example, enriched
from trex.foundation.percent import percent, percent_interval
from trex.pages.table import Column, Table, with_note
from trex.report.context import ReportContext
from trex.report.section import Section, template_file
from trex.runs.manifest import Manifest
from trex.search.results import Results
from trex.worlds.latents import SCENES

MAX_ROWS = 8  # of each kind


def patterns(context: ReportContext) -> Mapping[str, object] | None:
    """The patterns; None in a world without objects, or without hits."""
    found = run_patterns(context.manifest, context.results, context.explanations)
    return {"common": found, "tables": pattern_tables(found)} if found else None


def run_patterns(
    manifest: Manifest, results: Results, explanations: Mapping[str, Explanation]
) -> Enrichment | None:
    """What a run's hits have in common against its prior draws; relatives form one cluster.

    Returns None in a world without objects.
    """
    if manifest.world.form is not SCENES:
        return None
    examples = []
    for hit, cluster in zip(results.found, results.families.clusters, strict=True):
        explained = explanations.get(hit.record.picture)
        examples.append(Example(hit.record.scene, cluster, explained.chief if explained else None))
    prior = [draw.z for draw in results.sample.draws]
    return enriched(examples, prior, manifest.vocabulary, results.sample.selection)


def pattern_tables(found: Enrichment) -> list[Table[Enriched]]:
    """The clear rows of each kind."""
    return [
        Table("The object responsible", _columns("is responsible in"), found.clear("responsible", MAX_ROWS)),
        Table("In the scene", _columns("is in"), found.clear("present", MAX_ROWS)),
    ]


def _columns(here: str) -> tuple[Column[Enriched], ...]:
    return (
        Column("object", lambda row: row.words),
        Column(here, lambda row: with_note(percent(row.share), f"of {row.n}"), is_number=True),
        Column("95%", lambda row: percent_interval(*row.interval), is_number=True),
        Column("prior", lambda row: percent(row.prior_share), is_number=True),
        Column("95%", lambda row: percent_interval(*row.prior_interval), is_number=True),
        Column("lift", lambda row: f"{row.lift:.1f}" if row.prior_share else "–", is_number=True),
        Column("p", lambda row: f"{row.p_value:.1g}", is_number=True),
    )


SECTION = Section("patterns", template_file("trex.pages", "templates/commonalities.html"), patterns, 30)
