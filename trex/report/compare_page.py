"""`comparison.html`: several runs side by side on one self-contained page."""

from __future__ import annotations

from pathlib import Path

from trex.foundation.files import write_atomic
from trex.foundation.words import percent
from trex.inference.statistics.paired import Paired
from trex.pages.page import link_below, page
from trex.pages.table import Column, Table, linked, with_note
from trex.pages.wording import points
from trex.report.compare import ComparedRun, Comparison, PairedTest
from trex.runs.folder import REPORT

TESTS: tuple[Column[PairedTest], ...] = (
    Column("first and second", lambda test: f"{test.first} and {test.second}"),
    Column("what", lambda test: test.what),
    Column("scenes", lambda test: str(test.counts.n), is_number=True),
    Column("both", lambda test: str(test.counts.both), is_number=True),
    Column("first alone", lambda test: str(test.counts.only_first), is_number=True),
    Column("second alone", lambda test: str(test.counts.only_second), is_number=True),
    Column("difference (95%)", lambda test: _difference(test.counts), is_number=True),
    Column("p", lambda test: f"{test.p_value:.2g}", is_number=True),
)


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page: one self-contained file, with links to reports of runs below its folder."""
    values: dict[str, object] = {
        "comparison": comparison,
        "runs": comparison.runs,
        "results": Table("Runs", _columns(path), comparison.runs),
        "tests": Table(
            "Paired tests", TESTS, comparison.tests, lambda test: "clear" if test.is_clear else ""
        ),
    }
    write_atomic(path, page("compare.html", values).encode())


def _columns(path: Path) -> tuple[Column[ComparedRun], ...]:
    """What each run has found; names are links from the page at `path`."""
    return (
        Column("run", lambda run: linked(run.name, link_below(path, run.folder / REPORT))),
        Column("question", lambda run: with_note(f"“{run.manifest.facts.question}”", run.target)),
        Column("model", lambda run: run.model),
        Column("ending", lambda run: run.results.ending),
        Column(
            "how often in random scenes (95%)",
            lambda run: with_note(run.rate.figure, run.rate.detail),
            True,
        ),
        Column("distinct scenes", lambda run: str(len(run.results.found)), is_number=True),
        Column("families", lambda run: str(run.results.families.count), is_number=True),
        Column("wrong", lambda run: "–" if run.wrong is None else str(run.wrong), is_number=True),
        Column("renders", lambda run: str(run.results.renders), is_number=True),
        Column("renders each", lambda run: run.renders_each, is_number=True),
        Column("best", lambda run: percent(run.results.conclusion.best), is_number=True),
    )


def _difference(counts: Paired) -> str:
    low, high = map(points, counts.interval)
    return with_note(points(counts.difference), f"{low} to {high}")
